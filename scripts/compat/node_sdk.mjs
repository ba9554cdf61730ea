// Asks one question through an Agent SDK for Node, with the program under test as its command line.
const { query } = await import(process.argv[2]);
const options = { pathToClaudeCodeExecutable: process.env.COMPAT_CLAUDE, allowedTools: ["Bash"], cwd: process.cwd() };
for await (const message of query({ prompt: "hi #bash", options })) {
  if (message.type === "result") console.log(`result: ${message.result}`);
}
