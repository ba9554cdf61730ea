/** The tools that bridle calls in the editor, for one connection. */

import { pathToFileURL, fileURLToPath } from "node:url";

import type { Editor, FileProblems, Selection } from "./editor";
import { isInside, readPath } from "./paths";

type Arguments = Record<string, unknown>;

/** An error whose text bridle may read. */
export class ToolError extends Error {}

const MOST_DIFFS = 50;
const MOST_CHARACTERS = 8 * 1024 * 1024;
const NO_ARGUMENTS = { type: "object", properties: {} };
const OF_A_FILE = { type: "object", properties: { filePath: { type: "string" } }, required: ["filePath"] };

export const TOOLS = [
  {
    name: "openDiff",
    description: "Show a change of a file; answers when the user has saved or rejected it.",
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(
        ["old_file_path", "new_file_path", "new_file_contents", "tab_name"].map((name) => [name, { type: "string" }]),
      ),
      required: ["old_file_path", "new_file_contents", "tab_name"],
    },
  },
  {
    name: "openFile",
    description: "Show a file, with the text between two places selected.",
    inputSchema: {
      type: "object",
      properties: {
        filePath: { type: "string" },
        preview: { type: "boolean" },
        startText: { type: "string" },
        endText: { type: "string" },
      },
      required: ["filePath"],
    },
  },
  {
    name: "getDiagnostics",
    description: "Get the problems that the editor knows of, in one file or in all.",
    inputSchema: { type: "object", properties: { uri: { type: "string" } } },
  },
  { name: "getCurrentSelection", description: "Get the selection in the active editor.", inputSchema: NO_ARGUMENTS },
  { name: "getLatestSelection", description: "Get the last selection in a file.", inputSchema: NO_ARGUMENTS },
  { name: "getOpenEditors", description: "List the open files.", inputSchema: NO_ARGUMENTS },
  { name: "getWorkspaceFolders", description: "List the open folders.", inputSchema: NO_ARGUMENTS },
  { name: "checkDocumentDirty", description: "Tell whether an open file has unsaved changes.", inputSchema: OF_A_FILE },
  { name: "saveDocument", description: "Save an open file.", inputSchema: OF_A_FILE },
  {
    name: "close_tab",
    description: "Close a diff.",
    inputSchema: { type: "object", properties: { tab_name: { type: "string" } }, required: ["tab_name"] },
  },
  { name: "closeAllDiffTabs", description: "Close all diffs of this session.", inputSchema: NO_ARGUMENTS },
] as const;

/** A selection as the protocol has it, in answers and in notifications. */
export function told(selection: Selection): Record<string, unknown> {
  const { path, text, start, end } = selection;
  return { text, filePath: path, fileUrl: pathToFileURL(path).href, selection: { start, end, isEmpty: text === "" } };
}

export class Tools {
  private readonly diffs = new Map<string, AbortController>();

  constructor(private readonly editor: Editor) {}

  /** The texts of the answer. */
  async call(name: string, given: Arguments, signal: AbortSignal): Promise<string[]> {
    switch (name) {
      case "openDiff":
        return this.openDiff(given, signal);
      case "openFile":
        return [await this.openFile(given)];
      case "getDiagnostics":
        return [JSON.stringify(this.diagnostics(given["uri"]))];
      case "getCurrentSelection":
        return [selectionAnswer(this.editor.selection())];
      case "getLatestSelection":
        return [selectionAnswer(this.editor.latestSelection())];
      case "getOpenEditors":
        return [JSON.stringify({ tabs: this.editor.tabs().map((tab) => ({ uri: pathToFileURL(tab.path).href, ...tab })) })];
      case "getWorkspaceFolders":
        return [JSON.stringify({ success: true, folders: this.editor.folders().map(folderRow) })];
      case "checkDocumentDirty":
        return [JSON.stringify(this.isDirty(pathOf(given["filePath"])))];
      case "saveDocument":
        return [JSON.stringify({ success: await this.save(pathOf(given["filePath"])) })];
      case "close_tab":
        this.diffs.get(textOf(given["tab_name"], "tab_name"))?.abort();
        return ["TAB_CLOSED"];
      case "closeAllDiffTabs":
        return [`CLOSED_${this.closeDiffs()}_DIFF_TABS`];
      default:
        throw new ToolError("There is no such tool.");
    }
  }

  /** Close every diff; how many there were. */
  closeDiffs(): number {
    const open = [...this.diffs.values()];
    for (const each of open) each.abort();
    return open.length;
  }

  private async openDiff(given: Arguments, signal: AbortSignal): Promise<string[]> {
    const path = pathOf(given["new_file_path"] ?? given["old_file_path"]);
    const contents = textOf(given["new_file_contents"], "new_file_contents");
    const tab = textOf(given["tab_name"], "tab_name").slice(0, 300);
    if (contents.length > MOST_CHARACTERS) throw new ToolError("The file is too large to show.");
    this.diffs.get(tab)?.abort();
    if (this.diffs.size >= MOST_DIFFS) throw new ToolError("Too many diffs are open.");
    const closing = new AbortController();
    this.diffs.set(tab, closing);
    try {
      const until = AbortSignal.any([signal, closing.signal]);
      await this.allow(path);
      if (until.aborted) return ["TAB_CLOSED"];
      const verdict = await this.editor.showDiff({ path, contents, tab }, until);
      if (verdict.kind === "saved") return ["FILE_SAVED", verdict.text];
      return verdict.kind === "rejected" ? ["DIFF_REJECTED", tab] : ["TAB_CLOSED"];
    } finally {
      if (this.diffs.get(tab) === closing) this.diffs.delete(tab);
    }
  }

  private async openFile(given: Arguments): Promise<string> {
    const path = pathOf(given["filePath"]);
    await this.allow(path);
    const [startText, endText] = [given["startText"], given["endText"]].map((each) => (typeof each === "string" ? each : ""));
    await this.editor.showFile({ path, startText: startText ?? "", endText: endText ?? "", isPreview: given["preview"] === true });
    return `Opened file: ${path}`;
  }

  /** Problems of files that the user has in a folder or a tab; of others nothing is told. */
  private diagnostics(uri: unknown): unknown[] {
    if (uri === undefined || uri === null || uri === "") {
      return this.editor.problems(undefined).filter((file) => this.isKnown(file.path)).map((file) => problemRow(file));
    }
    const path = pathOf(uri);
    const found = this.isKnown(path) ? this.editor.problems(path) : [];
    const problems = found.filter((file) => file.path === path).flatMap((file) => file.problems);
    return [problemRow({ path, problems }, String(uri))];
  }

  private isDirty(path: string): Record<string, unknown> {
    const tab = this.editor.tabs().find((each) => each.path === path);
    return tab ? { success: true, filePath: path, isDirty: tab.isDirty } : { success: false, message: `Document not open: ${path}` };
  }

  private async save(path: string): Promise<boolean> {
    if (!this.isKnown(path)) throw new ToolError("This file is not in a folder that the editor has open.");
    return this.editor.save(path);
  }

  private isKnown(path: string): boolean {
    return isInside(path, this.editor.folders()) || this.editor.tabs().some((tab) => tab.path === path);
  }

  /** Only the user lets a file outside the workspace be shown. */
  private async allow(path: string): Promise<void> {
    if (this.isKnown(path) || (await this.editor.confirmOutside(path))) return;
    throw new ToolError("The user did not let this file be shown: it is outside the folders that the editor has open.");
  }
}

function pathOf(given: unknown): string {
  const path = readPath(typeof given === "string" && given.startsWith("file:") ? fromUri(given) : given);
  if (path === undefined) throw new ToolError("Give the absolute path of a file on this machine.");
  return path;
}

function fromUri(uri: string): string | undefined {
  try {
    return fileURLToPath(uri);
  } catch (error) {
    if (error instanceof TypeError || error instanceof URIError) return undefined;
    throw error;
  }
}

function textOf(given: unknown, name: string): string {
  if (typeof given !== "string") throw new ToolError(`${name} is missing.`);
  return given;
}

function selectionAnswer(selection: Selection | undefined): string {
  return JSON.stringify(selection ? { success: true, ...told(selection) } : { success: false, message: "No file is open." });
}

function folderRow(folder: string): Record<string, string> {
  return { uri: pathToFileURL(folder).href, path: folder };
}

function problemRow(file: FileProblems, uri?: string): Record<string, unknown> {
  return { uri: uri ?? pathToFileURL(file.path).href, diagnostics: file.problems };
}
