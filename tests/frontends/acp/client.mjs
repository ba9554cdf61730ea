// The official client for Node drives `bridle acp`: one prompt with an edit that is approved, then the session is loaded again.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const [sdk, program, ...rest] = process.argv.slice(2);
const acp = await import(sdk);
const [cwd, ...argv] = rest;
const child = spawn(program, argv, { stdio: ["pipe", "pipe", "inherit"], cwd });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const seen = { updates: [], asked: [], written: [] };
const { agent, client } = acp.methods;

const app = acp
  .client({ name: "test" })
  .onNotification(client.session.update, ({ params }) => { seen.updates.push(params.update); })
  .onRequest(client.session.requestPermission, ({ params }) => {
    seen.asked.push(params);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onRequest(client.fs.readTextFile, ({ params }) => ({ content: readFileSync(params.path, "utf8") }))
  .onRequest(client.fs.writeTextFile, ({ params }) => {
    seen.written.push(params.path);
    writeFileSync(params.path, params.content);
    return {};
  });

await app.connectWith(stream, async (peer) => {
  seen.hello = await peer.request(agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      session: { notices: {}, compaction: {} },
      auth: { terminal: true },
    },
  });
  const session = await peer.request(agent.session.new, { cwd, mcpServers: [] });
  const prompt = [{ type: "text", text: "change it" }];
  seen.answer = await peer.request(agent.session.prompt, { sessionId: session.sessionId, prompt });
  seen.live = seen.updates.splice(0);
  seen.list = await peer.request(agent.session.list, { cwd });
  seen.loaded = await peer.request(agent.session.load, { sessionId: session.sessionId, cwd, mcpServers: [] });
  await peer.request(agent.session.close, { sessionId: session.sessionId });
  await peer.request(agent.session.delete, { sessionId: session.sessionId });
});
child.stdin.end();
console.log(JSON.stringify(seen));
