/** What the link needs of an editor. It is small so that a test can stand in for VS Code. */

export interface Position {
  line: number;
  character: number;
}

/** A file that is open and what is selected in it; lines and columns count from zero. */
export interface Selection {
  path: string;
  text: string;
  start: Position;
  end: Position;
}

export interface Problem {
  message: string;
  severity: "Error" | "Warning" | "Info" | "Hint";
  range: { start: Position; end: Position };
  source?: string;
  code?: string;
}

export interface FileProblems {
  path: string;
  problems: Problem[];
}

export interface OpenTab {
  path: string;
  label: string;
  isActive: boolean;
  isDirty: boolean;
}

/** A change that waits for the user. */
export interface Diff {
  path: string;
  contents: string;
  tab: string;
}

/** What the user did with a diff: closing the tab decides nothing. */
export type Verdict = { kind: "saved"; text: string } | { kind: "rejected" } | { kind: "closed" };

export interface FileView {
  path: string;
  startText: string;
  endText: string;
  isPreview: boolean;
}

export interface Editor {
  readonly name: string;
  /** The folders that the user has opened. */
  folders(): string[];
  /** Ask the user whether a file outside these folders may be shown. */
  confirmOutside(path: string): Promise<boolean>;
  /** The selection in the active editor. */
  selection(): Selection | undefined;
  /** The last selection in a file, also when something else is active now. */
  latestSelection(): Selection | undefined;
  /** The known problems of one file or of all; nothing is opened for it. */
  problems(path: string | undefined): FileProblems[];
  tabs(): OpenTab[];
  /** Show a diff until the user decides or the signal fires, and close its tab then. */
  showDiff(diff: Diff, signal: AbortSignal): Promise<Verdict>;
  showFile(view: FileView): Promise<void>;
  /** Save an open file; false where it is not open or cannot be saved. */
  save(path: string): Promise<boolean>;
}
