/** Changes as diffs in VS Code: two files in memory, of which the user may edit the proposed one. */

import * as path from "node:path";
import * as vscode from "vscode";

import type { Diff, Verdict } from "./editor";

export const SCHEME = "bridle-diff";

interface Shown {
  diff: Diff;
  proposed: vscode.Uri;
  settle: (verdict: Verdict) => void;
}

interface Entry {
  data: Uint8Array;
  isEditable: boolean;
  changedAt: number;
}

/** The two sides of each diff; nothing of it is on the disk. */
class MemoryFiles implements vscode.FileSystemProvider {
  private readonly entries = new Map<string, Entry>();
  private readonly changes = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changes.event;

  put(uri: vscode.Uri, text: string, isEditable: boolean): void {
    this.entries.set(uri.path, { data: Buffer.from(text, "utf8"), isEditable, changedAt: Date.now() });
  }

  drop(uri: vscode.Uri): void {
    this.entries.delete(uri.path);
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { data, isEditable, changedAt } = this.entry(uri);
    const stat = { type: vscode.FileType.File, ctime: 0, mtime: changedAt, size: data.length };
    return isEditable ? stat : { ...stat, permissions: vscode.FilePermission.Readonly };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return this.entry(uri).data;
  }

  writeFile(uri: vscode.Uri, data: Uint8Array): void {
    const entry = this.entry(uri);
    if (!entry.isEditable) throw vscode.FileSystemError.NoPermissions(uri);
    this.entries.set(uri.path, { ...entry, data, changedAt: Date.now() });
    this.changes.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  private entry(uri: vscode.Uri): Entry {
    const found = this.entries.get(uri.path);
    if (found === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return found;
  }
}

export class Diffs implements vscode.Disposable {
  private readonly files = new MemoryFiles();
  private readonly shown = new Map<string, Shown>();
  private readonly savedByHand = new Set<string>();
  private readonly disposables: vscode.Disposable[];
  private count = 0;

  constructor() {
    this.disposables = [
      vscode.workspace.registerFileSystemProvider(SCHEME, this.files, { isCaseSensitive: true }),
      vscode.workspace.onWillSaveTextDocument((event) => this.willSave(event)),
      vscode.workspace.onDidSaveTextDocument((document) => this.didSave(document)),
      vscode.window.tabGroups.onDidChangeTabs((event) => event.closed.forEach((tab) => this.closed(tab))),
    ];
  }

  /** Show a change until the user decides, or the signal fires. */
  async show(diff: Diff, signal: AbortSignal): Promise<Verdict> {
    const number = ++this.count;
    const name = path.basename(diff.path);
    const original = vscode.Uri.from({ scheme: SCHEME, path: `/${number}/original/${name}` });
    const proposed = vscode.Uri.from({ scheme: SCHEME, path: `/${number}/proposed/${name}` });
    this.files.put(original, await currentText(diff.path), false);
    this.files.put(proposed, diff.contents, true);
    let settle: (verdict: Verdict) => void = () => undefined;
    const decided = new Promise<Verdict>((resolve) => (settle = resolve));
    this.shown.set(proposed.path, { diff, proposed, settle });
    const stop = () => settle({ kind: "closed" });
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (signal.aborted) return { kind: "closed" };
      await vscode.commands.executeCommand("vscode.diff", original, proposed, diff.tab, { preview: false, preserveFocus: true });
      return await decided;
    } finally {
      signal.removeEventListener("abort", stop);
      this.shown.delete(proposed.path);
      await this.close(proposed);
      this.files.drop(original);
      this.files.drop(proposed);
    }
  }

  /** Take a change as it stands in the editor. */
  accept(uri: vscode.Uri | undefined): void {
    const shown = this.at(uri);
    if (shown === undefined) return;
    const document = vscode.workspace.textDocuments.find((each) => each.uri.path === shown.proposed.path && each.uri.scheme === SCHEME);
    shown.settle({ kind: "saved", text: document === undefined ? shown.diff.contents : textOf(document, shown.diff) });
  }

  reject(uri: vscode.Uri | undefined): void {
    this.at(uri)?.settle({ kind: "rejected" });
  }

  dispose(): void {
    for (const each of this.shown.values()) each.settle({ kind: "closed" });
    for (const each of this.disposables) each.dispose();
  }

  /** The diff that a command is about: that of its button, else the active one. */
  private at(uri: vscode.Uri | undefined): Shown | undefined {
    const active = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const meant = uri ?? (active instanceof vscode.TabInputTextDiff ? active.modified : undefined);
    return meant?.scheme === SCHEME ? this.shown.get(meant.path.replace("/original/", "/proposed/")) : undefined;
  }

  /** Only saving by hand accepts: an editor that saves after a delay decides nothing. */
  private willSave(event: vscode.TextDocumentWillSaveEvent): void {
    const { uri } = event.document;
    if (uri.scheme !== SCHEME) return;
    if (event.reason === vscode.TextDocumentSaveReason.Manual) this.savedByHand.add(uri.path);
    else this.savedByHand.delete(uri.path);
  }

  private didSave(document: vscode.TextDocument): void {
    if (document.uri.scheme !== SCHEME || !this.savedByHand.delete(document.uri.path)) return;
    const shown = this.shown.get(document.uri.path);
    shown?.settle({ kind: "saved", text: textOf(document, shown.diff) });
  }

  private closed(tab: vscode.Tab): void {
    if (!(tab.input instanceof vscode.TabInputTextDiff) || tab.input.modified.scheme !== SCHEME) return;
    this.shown.get(tab.input.modified.path)?.settle({ kind: "closed" });
  }

  private async close(proposed: vscode.Uri): Promise<void> {
    const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === proposed.toString());
    // Saved into memory first, so that closing asks nothing.
    if (document?.isDirty === true) await document.save();
    this.savedByHand.delete(proposed.path);
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const ours = tabs.filter((tab) => tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.toString() === proposed.toString());
    if (ours.length > 0) await vscode.window.tabGroups.close(ours, true);
  }
}

/** What the user made of a change. An untouched one stays as it was proposed, with its byte-order mark and line ends. */
function textOf(document: vscode.TextDocument, diff: Diff): string {
  if (document.version === 1) return diff.contents;
  const mark = diff.contents.startsWith("\ufeff") ? "\ufeff" : "";
  return mark + document.getText();
}

/** What a file holds on the disk; empty where there is none. */
async function currentText(file: string): Promise<string> {
  try {
    return Buffer.from(await vscode.workspace.fs.readFile(vscode.Uri.file(file))).toString("utf8");
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === "FileNotFound") return "";
    throw error;
  }
}
