// Behaviors of bridle behind the npm SDK. Prints one line of JSON for each: {name, error?}.
// The model's script is in test_node.py; each behavior has a word in its prompts that no other has.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const sdk = await import(pathToFileURL(process.argv[2]).href);
const { query, createSdkMcpServer, getSessionMessages, listSessions, tool } = sdk;
const cwd = process.argv[3];
const base = { cwd, pathToClaudeCodeExecutable: process.argv[4], env: { ...process.env } };
const made = (name) => join(cwd, name);

async function ask(prompt, options = {}) {
  const messages = [];
  for await (const message of query({ prompt, options: { ...base, ...options } })) messages.push(message);
  return messages;
}

const resultOf = (messages) => {
  const results = messages.filter((message) => message.type === "result");
  assert.equal(results.length, 1);
  return results[0];
};

const userMessage = (content) => ({
  type: "user",
  message: { role: "user", content },
  parent_tool_use_id: null,
  session_id: "",
});

const behaviors = {
  async query_yields_init_answer_and_result() {
    const messages = await ask("alpha");
    assert.deepEqual(messages.map((message) => message.type), ["system", "assistant", "result"]);
    assert.equal(resultOf(messages).result, "Alpha it is.");
    assert.equal(messages[0].cwd, cwd);
  },

  async system_prompt_of_the_introduction_is_sent() {
    const result = resultOf(await ask("bravo", { systemPrompt: "Be a parrot." }));
    assert.equal(result.result, "Parrot.");
  },

  async preset_with_append() {
    const systemPrompt = { type: "preset", preset: "claude_code", append: "Speak in verse." };
    assert.equal(resultOf(await ask("charlie", { systemPrompt })).result, "Verse.");
  },

  async callback_may_allow_and_change_the_input() {
    const canUseTool = async (tool, input) => ({
      behavior: "allow",
      updatedInput: { ...input, command: "touch node-other" },
    });
    await ask("delta", { canUseTool });
    assert.ok(existsSync(made("node-other")) && !existsSync(made("node-made")));
  },

  async callback_may_deny() {
    const canUseTool = async () => ({ behavior: "deny", message: "not today" });
    const result = resultOf(await ask("echo-deny", { canUseTool }));
    assert.equal(result.permission_denials.length, 1);
  },

  async hook_may_deny_a_call() {
    const hook = async (input) => ({
      hookSpecificOutput: {
        hookEventName: input.hook_event_name,
        permissionDecision: "deny",
        permissionDecisionReason: "hook says no",
      },
    });
    const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [hook] }] };
    await ask("foxtrot", { hooks, allowedTools: ["Bash"] });
    assert.ok(!existsSync(made("node-hooked")));
  },

  async structured_output_of_the_introduction() {
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const result = resultOf(await ask("golf", { outputFormat: { type: "json_schema", schema } }));
    assert.deepEqual(result.structured_output, { n: 7 });
  },

  async partial_messages() {
    const messages = await ask("hotel", { includePartialMessages: true });
    const events = messages.filter((message) => message.type === "stream_event");
    assert.equal(events[0].event.type, "message_start");
    assert.equal(events.at(-1).event.type, "message_stop");
  },

  async turn_limit_is_an_error_result() {
    const messages = [];
    const options = { ...base, maxTurns: 1, allowedTools: ["Bash"] };
    try {
      for await (const message of query({ prompt: "india", options })) messages.push(message);
    } catch (error) {
      assert.match(String(error), /maximum number of turns|exit/i);
    }
    assert.equal(resultOf(messages).subtype, "error_max_turns");
  },

  async session_can_be_resumed_and_forked() {
    const first = resultOf(await ask("juliett"));
    const second = resultOf(await ask("juliett again", { resume: first.session_id }));
    assert.equal(second.session_id, first.session_id);
    const fork = resultOf(await ask("juliett fork", { resume: first.session_id, forkSession: true }));
    assert.notEqual(fork.session_id, first.session_id);
    assert.equal(fork.result, "Forked.");
  },

  async stream_of_prompts_with_model_and_mode_changes() {
    const results = [];
    let told;
    let next = new Promise((resolve) => (told = resolve));
    async function* prompts() {
      yield userMessage("kilo one");
      await next;
      await running.setModel("claude-haiku-4-5");
      await running.setPermissionMode("acceptEdits");
      yield userMessage("kilo two");
    }
    const running = query({ prompt: prompts(), options: base });
    const modes = [];
    for await (const message of running) {
      if (message.type === "system" && message.subtype === "init") modes.push(message.permissionMode);
      if (message.type === "result") {
        results.push(message.result);
        told();
        if (results.length === 2) break;
      }
    }
    assert.deepEqual(results, ["First.", "Haiku speaks."]);
    assert.deepEqual(modes, ["default", "acceptEdits"]);
  },

  async interrupt_ends_a_turn() {
    let stop;
    const done = new Promise((resolve) => (stop = resolve));
    async function* prompts() {
      yield userMessage("lima");
      await done;
    }
    const running = query({ prompt: prompts(), options: { ...base, allowedTools: ["Bash"] } });
    let result;
    for await (const message of running) {
      if (message.type === "assistant") await running.interrupt();
      if (message.type === "result") {
        result = message;
        stop();
        break;
      }
    }
    assert.equal(result.subtype, "error_during_execution");
  },

  async information_about_the_session() {
    let stop;
    const done = new Promise((resolve) => (stop = resolve));
    async function* prompts() {
      yield userMessage("mike");
      await done;
    }
    const agents = { critic: { description: "Finds faults.", prompt: "Find faults." } };
    const running = query({ prompt: prompts(), options: { ...base, agents } });
    const models = await running.supportedModels();
    const account = await running.accountInfo();
    const servers = await running.mcpServerStatus();
    const commands = await running.supportedCommands();
    assert.ok(models.some((model) => model.value === "sonnet"));
    assert.equal(account.apiKeySource, "ANTHROPIC_API_KEY");
    assert.deepEqual(servers, []);
    assert.ok(Array.isArray(commands));
    for await (const message of running) if (message.type === "result") break;
    stop();
  },

  async sessions_are_listed_and_read_back() {
    const result = resultOf(await ask("november"));
    const listed = await listSessions({ dir: cwd });
    const ours = listed.find((session) => session.sessionId === result.session_id);
    assert.equal(ours.firstPrompt, "november");
    const messages = await getSessionMessages(result.session_id, { dir: cwd });
    assert.deepEqual(messages.map((message) => message.type), ["user", "assistant"]);
  },

  async failed_request_is_an_error() {
    const messages = [];
    let raised;
    try {
      for await (const message of query({ prompt: "oscar", options: base })) messages.push(message);
    } catch (error) {
      raised = error;
    }
    assert.ok(resultOf(messages).is_error);
    assert.match(String(raised), /No such luck/);
  },

  async aborted_query_leaves_no_process() {
    const abortController = new AbortController();
    await assert.rejects(async () => {
      for await (const message of query({ prompt: "papa", options: { ...base, abortController } })) {
        if (message.type === "assistant") abortController.abort();
      }
    });
  },

  async name_of_a_tool_may_stand_for_another() {
    await ask("romeo", { toolAliases: { Shell: "Bash" }, allowedTools: ["Bash"] });
    assert.ok(existsSync(made("node-aliased")));
  },

  async plugins_may_come_with_the_introduction() {
    const folder = made("garden");
    mkdirSync(join(folder, ".claude-plugin"), { recursive: true });
    mkdirSync(join(folder, "commands"));
    writeFileSync(join(folder, ".claude-plugin", "plugin.json"), JSON.stringify({ name: "garden", version: "1.0.0" }));
    writeFileSync(join(folder, "commands", "greet.md"), "Say hello.");
    const plugins = [{ type: "local", path: folder }];
    const messages = await ask("sierra", { plugins, pluginDelivery: "initialize" });
    assert.deepEqual(messages[0].plugins.map((plugin) => plugin.name), ["garden"]);
    assert.ok(messages[0].slash_commands.includes("garden:greet"));
  },

  async plan_mode_follows_the_workflow_of_the_program() {
    const options = { permissionMode: "plan", planModeInstructions: "Interview the gardener." };
    assert.equal(resultOf(await ask("tango", options)).result, "Interviewed.");
  },

  async next_prompt_is_suggested_where_asked() {
    let next;
    async function* prompts() {
      yield userMessage("uniform one");
      await new Promise((resolve) => (next = resolve));
      yield userMessage("uniform two");
      await new Promise((resolve) => (next = resolve));
    }
    const running = query({ prompt: prompts(), options: { ...base, promptSuggestions: true } });
    let suggestion;
    let results = 0;
    for await (const message of running) {
      if (message.type === "result" && ++results === 1) next();
      if (message.type === "prompt_suggestion") {
        suggestion = message.suggestion;
        next();
        break;
      }
    }
    assert.equal(suggestion, "water the plants");
    assert.equal(results, 2);
  },

  async server_inside_the_program_is_called_and_named_to_hooks_and_callback() {
    const seen = [];
    const add = tool("add", "Adds.", {}, async () => ({ content: [{ type: "text", text: "3" }] }));
    const hook = async (input) => {
      seen.push(input.mcp_server);
      return {};
    };
    const options = {
      mcpServers: { calc: createSdkMcpServer({ name: "calc", tools: [add] }) },
      hooks: { PreToolUse: [{ matcher: "mcp__calc__add", hooks: [hook] }] },
      canUseTool: async (name, input) => ({ behavior: "allow", updatedInput: input }),
    };
    const messages = await ask("victor", options);
    const told = messages.find((message) => message.type === "user");
    assert.equal(told.message.content[0].content[0].text, "3");
    assert.deepEqual(seen, [{ name: "calc", source: "sdk" }]);
  },

  async agent_of_the_program_reports() {
    const agents = { critic: { description: "Finds faults.", prompt: "You find faults." } };
    const messages = await ask("whiskey", { agents });
    assert.equal(resultOf(messages).result, "Noted.");
    const inside = messages.filter((message) => message.parent_tool_use_id === "w1");
    assert.ok(inside.length >= 1);
  },

  async files_go_back_to_a_prompt() {
    writeFileSync(made("node-file"), "before");
    let stop;
    const done = new Promise((resolve) => (stop = resolve));
    const uuid = "22222222-2222-4222-8222-222222222222";
    async function* prompts() {
      yield { ...userMessage("xray"), uuid };
      await done;
    }
    const options = { ...base, enableFileCheckpointing: true, permissionMode: "acceptEdits" };
    const running = query({ prompt: prompts(), options });
    for await (const message of running) {
      if (message.type !== "result") continue;
      assert.equal(readFileSync(made("node-file"), "utf8"), "after");
      const tried = await running.rewindFiles(uuid, { dryRun: true });
      assert.equal(tried.canRewind, true);
      await running.rewindFiles(uuid);
      break;
    }
    stop();
    assert.equal(readFileSync(made("node-file"), "utf8"), "before");
  },

  async context_usage_adds_up() {
    let stop;
    const done = new Promise((resolve) => (stop = resolve));
    async function* prompts() {
      yield userMessage("yankee");
      await done;
    }
    const running = query({ prompt: prompts(), options: base });
    for await (const message of running) {
      if (message.type !== "result") continue;
      const usage = await running.getContextUsage();
      assert.ok(usage.totalTokens > 0 && usage.categories.length > 2);
      break;
    }
    stop();
  },

  async command_that_is_waited_for_moves_to_the_background() {
    let stop;
    const done = new Promise((resolve) => (stop = resolve));
    async function* prompts() {
      yield userMessage("zulu");
      await done;
    }
    const begun = new Promise((resolve) => {
      const watcher = watch(cwd, (_, name) => {
        if (name !== "node-begun") return;
        watcher.close();
        resolve();
      });
    });
    const running = query({ prompt: prompts(), options: { ...base, allowedTools: ["Bash"] } });
    const moved = begun.then(async () => [await running.backgroundTasks("other"), await running.backgroundTasks("z1")]);
    for await (const message of running) {
      if (message.type !== "result") continue;
      assert.equal(message.result, "It goes on.");
      break;
    }
    assert.deepEqual(await moved, [false, true]);
    stop();
  },

  async tool_results_carry_structured_output() {
    const messages = await ask("quebec");
    const told = messages.find((message) => message.type === "user");
    assert.equal(told.tool_use_result.stdout, "seen");
    assert.equal(told.message.content[0].tool_use_id, "q1");
  },
};

const only = process.argv.slice(5);
for (const [name, behavior] of Object.entries(behaviors)) {
  if (only.length && !only.includes(name)) continue;
  const line = { name };
  try {
    await behavior();
  } catch (error) {
    line.error = String(error.stack ?? error);
  }
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
process.exit(0);
