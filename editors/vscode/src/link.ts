/** The server that bridle connects to: MCP over a WebSocket of this machine, announced by a file. Nothing here knows VS Code. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

import { WebSocket, WebSocketServer } from "ws";

import type { Editor, Selection } from "./editor";
import { LockFile } from "./lock";
import { TOOLS, ToolError, Tools, told } from "./tools";

const TOKEN_HEADER = "x-claude-code-ide-authorization";
const REVISIONS = ["2025-06-18", "2025-03-26", "2024-11-05"];
const LONGEST_MESSAGE = 32 * 1024 * 1024;
const MOST_CONNECTIONS = 32;
const MOST_URIS = 1000;

export interface LinkOptions {
  env: NodeJS.ProcessEnv;
  version: string;
  /** Takes what went wrong, for the log of the editor. */
  log: (message: string) => void;
}

export class Link {
  private readonly token = randomBytes(32).toString("hex");
  private readonly server = http.createServer((_, response) => response.writeHead(426).end());
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: LONGEST_MESSAGE, perMessageDeflate: false });
  private lock: LockFile | undefined;

  private constructor(
    private readonly editor: Editor,
    private readonly options: LinkOptions,
  ) {
    this.server.on("upgrade", (request, socket, head) => this.admit(request, socket, head));
  }

  /** Listen on a port of this machine alone, and leave the file. */
  static async start(editor: Editor, options: LinkOptions): Promise<Link> {
    const link = new Link(editor, options);
    await new Promise<void>((resolve, reject) => {
      link.server.once("error", reject);
      link.server.listen(0, "127.0.0.1", () => resolve());
    });
    link.lock = new LockFile(link.port, options.env);
    try {
      link.announce();
    } catch (error) {
      link.server.close();
      throw error;
    }
    return link;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get isConnected(): boolean {
    return this.sockets.clients.size > 0;
  }

  /** Write the file again: the folders have changed. */
  announce(): void {
    this.lock?.write({ ideName: this.editor.name, workspaceFolders: this.editor.folders(), authToken: this.token });
  }

  select(selection: Selection): void {
    this.notify("selection_changed", told(selection));
  }

  /** Put a file into the prompt, with lines that count from zero. */
  mention(path: string, lines?: { first: number; last: number }): void {
    this.notify("at_mentioned", { filePath: path, ...(lines ? { lineStart: lines.first, lineEnd: lines.last } : {}) });
  }

  problemsChanged(uris: string[]): void {
    if (uris.length > 0) this.notify("diagnostics_changed", { uris: uris.slice(0, MOST_URIS) });
  }

  async stop(): Promise<void> {
    this.lock?.remove();
    for (const socket of this.sockets.clients) socket.terminate();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private notify(method: string, params: unknown): void {
    const text = JSON.stringify({ jsonrpc: "2.0", method, params });
    for (const socket of this.sockets.clients) if (socket.readyState === WebSocket.OPEN) socket.send(text);
  }

  private admit(request: http.IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", (error) => this.options.log(`a connection broke: ${error.message}`));
    const given = request.headers[TOKEN_HEADER];
    // Pages in a browser always say where they come from, and bridle never does.
    if (request.headers.origin !== undefined) return refuse(socket, "403 Forbidden");
    if (typeof given !== "string" || !isSame(given, this.token)) return refuse(socket, "401 Unauthorized");
    if (this.sockets.clients.size >= MOST_CONNECTIONS) return refuse(socket, "503 Service Unavailable");
    this.sockets.handleUpgrade(request, socket, head, (opened) => new Conversation(opened, this.editor, this.options));
  }
}

/** One bridle that is connected. */
class Conversation {
  private readonly tools: Tools;
  private readonly running = new Map<unknown, AbortController>();

  constructor(
    private readonly socket: WebSocket,
    editor: Editor,
    private readonly options: LinkOptions,
  ) {
    this.tools = new Tools(editor);
    socket.on("message", (data) => void this.take(String(data)));
    socket.on("error", (error) => options.log(`a connection broke: ${error.message}`));
    socket.on("close", () => this.tools.closeDiffs());
  }

  private async take(text: string): Promise<void> {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return this.fail(null, -32700, "This is not JSON.");
    }
    if (!isObject(message) || typeof message["method"] !== "string") {
      if (isObject(message) && ("result" in message || "error" in message)) return;
      return this.fail(null, -32600, "This is not a request.");
    }
    const params = isObject(message["params"]) ? message["params"] : {};
    const id = message["id"];
    if (id === undefined) return this.hear(message["method"], params);
    if (typeof id !== "string" && typeof id !== "number") return this.fail(null, -32600, "An id is a string or a number.");
    await this.answer(id, message["method"], params);
  }

  private hear(method: string, params: Record<string, unknown>): void {
    if (method === "notifications/cancelled") this.running.get(params["requestId"])?.abort();
  }

  private async answer(id: string | number, method: string, params: Record<string, unknown>): Promise<void> {
    switch (method) {
      case "initialize": {
        const asked = params["protocolVersion"];
        return this.send(id, {
          protocolVersion: typeof asked === "string" && REVISIONS.includes(asked) ? asked : REVISIONS[0],
          capabilities: { tools: {} },
          serverInfo: { name: "bridle-vscode", version: this.options.version },
        });
      }
      case "ping":
        return this.send(id, {});
      case "tools/list":
        return this.send(id, { tools: TOOLS });
      case "tools/call":
        return this.call(id, params);
      default:
        return this.fail(id, -32601, "There is no such method.");
    }
  }

  private async call(id: string | number, params: Record<string, unknown>): Promise<void> {
    const running = new AbortController();
    this.running.set(id, running);
    try {
      const given = isObject(params["arguments"]) ? params["arguments"] : {};
      const texts = await this.tools.call(String(params["name"]), given, running.signal);
      this.send(id, { content: texts.map((text) => ({ type: "text", text })) });
    } catch (error) {
      // What the editor says of its own errors goes to its log, not to a model.
      if (!(error instanceof ToolError)) this.options.log(`${String(params["name"])} failed: ${String(error)}`);
      const text = error instanceof ToolError ? error.message : "The editor could not do this; its log says why.";
      this.send(id, { content: [{ type: "text", text }], isError: true });
    } finally {
      if (this.running.get(id) === running) this.running.delete(id);
    }
  }

  private send(id: string | number, result: unknown): void {
    this.write({ jsonrpc: "2.0", id, result });
  }

  private fail(id: string | number | null, code: number, message: string): void {
    this.write({ jsonrpc: "2.0", id, error: { code, message } });
  }

  private write(message: unknown): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** Takes the same time for every wrong token, whatever its length. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((each) => createHash("sha256").update(each).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
