/** The extension: starts bridle in a terminal, and tells it over the link what happens in the editor. */

import * as vscode from "vscode";

import { Diffs } from "./diffs";
import { Link } from "./link";
import { VsCodeEditor } from "./vscode_editor";

const PORT = "CLAUDE_CODE_SSE_PORT";
const SELECTION_RESTS_MS = 100;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("bridle", { log: true });
  const diffs = new Diffs();
  const editor = new VsCodeEditor(diffs);
  context.subscriptions.push(log, diffs);
  const version = String((context.extension.packageJSON as { version: unknown }).version);
  const link = await Link.start(editor, { env: process.env, version, log: (message) => log.error(message) });
  context.subscriptions.push({ dispose: () => void link.stop() });
  // Terminals that are opened from now on belong to this window; nothing of it outlives the window.
  context.environmentVariableCollection.persistent = false;
  context.environmentVariableCollection.replace(PORT, String(link.port));
  context.subscriptions.push(
    vscode.commands.registerCommand("bridle.start", () => start(link.port)),
    vscode.commands.registerCommand("bridle.mention", () => mention(editor, link)),
    vscode.commands.registerCommand("bridle.accept", (uri?: vscode.Uri) => diffs.accept(uri)),
    vscode.commands.registerCommand("bridle.reject", (uri?: vscode.Uri) => diffs.reject(uri)),
    vscode.workspace.onDidChangeWorkspaceFolders(() => link.announce()),
    vscode.languages.onDidChangeDiagnostics(({ uris }) => {
      link.problemsChanged(uris.filter((uri) => uri.scheme === "file").map(String));
    }),
    followSelection(editor, link),
  );
}

let terminal: vscode.Terminal | undefined;

/** Show the terminal with bridle, or open one. */
function start(port: number): void {
  if (terminal === undefined || terminal.exitStatus !== undefined) {
    const cwd = vscode.workspace.workspaceFolders?.[0]?.uri;
    terminal = vscode.window.createTerminal({
      name: "bridle",
      env: { [PORT]: String(port) },
      location: { viewColumn: vscode.ViewColumn.Beside },
      ...(cwd === undefined ? {} : { cwd }),
    });
    const command = vscode.workspace.getConfiguration("bridle").get<string>("command", "bridle");
    terminal.sendText(command.replace(/[\r\n]+/g, " "));
  }
  terminal.show();
}

function mention(editor: VsCodeEditor, link: Link): void {
  const selection = editor.selection();
  if (selection === undefined) return;
  if (!link.isConnected) {
    void vscode.window.showInformationMessage("No bridle is connected. Run “bridle: Start in the Terminal” first.");
    return;
  }
  const { path, text, start, end } = selection;
  // A selection that ends where a line begins holds nothing of that line.
  const last = end.line > start.line && end.character === 0 ? end.line - 1 : end.line;
  if (text === "") link.mention(path);
  else link.mention(path, { first: start.line, last });
}

/** Tell where the user is, once the cursor rests. */
function followSelection(editor: VsCodeEditor, link: Link): vscode.Disposable {
  let waiting: NodeJS.Timeout | undefined;
  const tell = () => {
    const selection = editor.remember();
    if (selection !== undefined) link.select(selection);
  };
  const moved = () => {
    clearTimeout(waiting);
    waiting = setTimeout(tell, SELECTION_RESTS_MS);
  };
  return vscode.Disposable.from(
    vscode.window.onDidChangeTextEditorSelection(moved),
    vscode.window.onDidChangeActiveTextEditor(moved),
    { dispose: () => clearTimeout(waiting) },
  );
}
