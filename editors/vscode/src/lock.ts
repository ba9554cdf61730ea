/** The file that tells bridle where the editor listens. */

import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

export interface Announcement {
  ideName: string;
  workspaceFolders: string[];
  authToken: string;
}

export class LockFile {
  readonly path: string;

  constructor(port: number, env: NodeJS.ProcessEnv) {
    const home = env["CLAUDE_CONFIG_DIR"] || path.join(env["HOME"] || os.homedir(), ".claude");
    this.path = path.join(home, "ide", `${port}.lock`);
  }

  /** Written beside and moved, so that it is never read half and never through a link. */
  write(announcement: Announcement): void {
    const told = { pid: process.pid, transport: "ws", runningInWindows: process.platform === "win32", ...announcement };
    const folder = path.dirname(this.path);
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const draft = path.join(folder, `.${path.basename(this.path)}.${randomBytes(6).toString("hex")}`);
    fs.writeFileSync(draft, JSON.stringify(told), { flag: "wx", mode: 0o600 });
    try {
      fs.renameSync(draft, this.path);
    } catch (error) {
      fs.rmSync(draft, { force: true });
      throw error;
    }
  }

  remove(): void {
    fs.rmSync(this.path, { force: true });
  }
}
