// The link of the extension for VS Code, with a fake editor that is driven by lines of JSON.
// Arguments: the built extension, the folder that is open.
const path = require("node:path");
const readline = require("node:readline");

const [built, folder] = process.argv.slice(2);
const { Link } = require(path.join(built, "out", "link.js"));

const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const diffs = new Map();
let selection;
let problems = [];
let link;

const editor = {
  name: "Visual Studio Code",
  folders: () => [folder],
  confirmOutside: async (file) => (tell({ event: "outside", path: file }), false),
  selection: () => selection,
  latestSelection: () => selection,
  problems: (file) => problems.filter((each) => file === undefined || each.path === file),
  tabs: () => [],
  showDiff: (diff, signal) =>
    new Promise((resolve) => {
      diffs.set(diff.tab, resolve);
      signal.addEventListener("abort", () => (tell({ event: "closed", tab: diff.tab }), resolve({ kind: "closed" })));
      tell({ event: "diff", ...diff });
    }),
  showFile: async (view) => tell({ event: "file", ...view }),
  save: async () => true,
};

const commands = {
  answer: ({ tab, verdict }) => diffs.get(tab)(verdict),
  select: ({ to }) => ((selection = to), link.select(to)),
  mention: ({ path: file, lines }) => link.mention(file, lines),
  problems: ({ found, uris }) => ((problems = found), link.problemsChanged(uris)),
  stop: async () => (await link.stop(), tell({ event: "stopped" })),
};

Link.start(editor, { env: process.env, version: "0", log: (message) => tell({ event: "log", message }) }).then((started) => {
  link = started;
  readline.createInterface({ input: process.stdin }).on("line", (line) => {
    const command = JSON.parse(line);
    commands[command.do](command);
  }).on("close", () => process.exit(0));
  tell({ event: "ready", port: link.port });
});
