/** VS Code as the link sees it. */

import * as vscode from "vscode";

import type { Diffs } from "./diffs";
import type { Diff, Editor, FileProblems, FileView, OpenTab, Problem, Selection, Verdict } from "./editor";

const MOST_TEXT = 100_000;
const SEVERITIES = ["Error", "Warning", "Info", "Hint"] as const;

export class VsCodeEditor implements Editor {
  readonly name = vscode.env.appName;
  private latest: Selection | undefined;

  constructor(private readonly diffs: Diffs) {}

  folders(): string[] {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return folders.filter((each) => each.uri.scheme === "file").map((each) => each.uri.fsPath);
  }

  async confirmOutside(path: string): Promise<boolean> {
    const show = "Show It";
    const detail = `${path}\n\nbridle wants to show this file. It is outside the folders that are open here.`;
    return (await vscode.window.showWarningMessage("Show a file outside the workspace?", { modal: true, detail }, show)) === show;
  }

  selection(): Selection | undefined {
    const editor = vscode.window.activeTextEditor;
    return editor === undefined ? undefined : selectionOf(editor);
  }

  latestSelection(): Selection | undefined {
    return this.remember() ?? this.latest;
  }

  /** Note where the user is; undefined where the active editor shows no file. */
  remember(): Selection | undefined {
    const found = this.selection();
    if (found !== undefined) this.latest = found;
    return found;
  }

  problems(path: string | undefined): FileProblems[] {
    if (path !== undefined) return [{ path, problems: vscode.languages.getDiagnostics(vscode.Uri.file(path)).map(problemOf) }];
    const files = vscode.languages.getDiagnostics().filter(([uri, found]) => uri.scheme === "file" && found.length > 0);
    return files.map(([uri, found]) => ({ path: uri.fsPath, problems: found.map(problemOf) }));
  }

  tabs(): OpenTab[] {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    return tabs.flatMap((tab) => {
      if (!(tab.input instanceof vscode.TabInputText) || tab.input.uri.scheme !== "file") return [];
      const isActive = tab.isActive && tab.group.isActive;
      return [{ path: tab.input.uri.fsPath, label: tab.label, isActive, isDirty: tab.isDirty }];
    });
  }

  showDiff(diff: Diff, signal: AbortSignal): Promise<Verdict> {
    return this.diffs.show(diff, signal);
  }

  async showFile(view: FileView): Promise<void> {
    const document = await vscode.workspace.openTextDocument(vscode.Uri.file(view.path));
    const shown = await vscode.window.showTextDocument(document, { preview: view.isPreview });
    const text = document.getText();
    const start = view.startText === "" ? -1 : text.indexOf(view.startText);
    if (start < 0) return;
    const from = view.endText === "" ? -1 : text.indexOf(view.endText, start);
    const end = from < 0 ? start + view.startText.length : from + view.endText.length;
    shown.selection = new vscode.Selection(document.positionAt(start), document.positionAt(end));
    shown.revealRange(shown.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  async save(path: string): Promise<boolean> {
    const document = vscode.workspace.textDocuments.find((each) => each.uri.scheme === "file" && each.uri.fsPath === path);
    return document === undefined ? false : document.save();
  }
}

function selectionOf(editor: vscode.TextEditor): Selection | undefined {
  const { document, selection } = editor;
  if (document.uri.scheme !== "file") return undefined;
  const text = document.getText(selection).slice(0, MOST_TEXT);
  return { path: document.uri.fsPath, text, start: plain(selection.start), end: plain(selection.end) };
}

function problemOf(found: vscode.Diagnostic): Problem {
  const code = typeof found.code === "object" ? found.code.value : found.code;
  return {
    message: found.message,
    severity: SEVERITIES[found.severity] ?? "Hint",
    range: { start: plain(found.range.start), end: plain(found.range.end) },
    ...(found.source === undefined ? {} : { source: found.source }),
    ...(code === undefined ? {} : { code: String(code) }),
  };
}

function plain({ line, character }: vscode.Position): { line: number; character: number } {
  return { line, character };
}
