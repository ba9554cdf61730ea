// One prompt through a library for Node: `node_library.mjs <entry of the package>`.
import path from "node:path";

const library = await import(process.argv[2]);
if (library.createClaudeCode) {
  const { generateText } = await import(path.join(process.env.COMPAT_MODULES, "ai", "dist", "index.js"));
  const defaultSettings = { pathToClaudeCodeExecutable: process.env.COMPAT_CLAUDE, allowedTools: ["Bash"] };
  const model = library.createClaudeCode({ defaultSettings })("sonnet");
  console.log((await generateText({ model, prompt: "hi #bash" })).text);
} else {
  console.log(await library.claude().allowTools("Bash").query("hi #bash").asText());
}
