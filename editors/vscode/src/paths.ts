/** Which paths a model may have shown without a question. */

import * as fs from "node:fs";
import * as path from "node:path";

/** The absolute path that an argument names; undefined for anything else. */
export function readPath(given: unknown): string | undefined {
  if (typeof given !== "string" || given.length > 4096 || given.includes("\0") || !path.isAbsolute(given)) return undefined;
  // On Windows, a path that begins with two slashes names another machine.
  if (process.platform === "win32" && /^[\\/]{2}/.test(given)) return undefined;
  return path.normalize(given);
}

/** The file behind every link, for a file that may not exist yet. */
function realPath(file: string): string | undefined {
  try {
    return fs.realpathSync.native(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    // A link whose target is missing leads to where nobody knows.
    if (code !== "ENOENT" || isLink(file)) return undefined;
  }
  const above = path.dirname(file);
  const real = above === file ? undefined : realPath(above);
  return real === undefined ? undefined : path.join(real, path.basename(file));
}

function isLink(file: string): boolean {
  return fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Whether a file is in one of the folders, once every link is followed. */
export function isInside(file: string, folders: readonly string[]): boolean {
  const real = realPath(file);
  if (real === undefined) return false;
  return folders.some((folder) => {
    const root = realPath(folder);
    if (root === undefined) return false;
    const relative = path.relative(root, real);
    return relative === "" || !(relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative));
  });
}
