// The task list of a conversation, folded from the calls that change it. Nothing here touches the page.

/** The tasks as they stand after these items, in order. */
export function tasksOf(items) {
  let listed = null;
  const made = new Map();
  for (const item of items.values()) {
    if (item.kind !== "call" || item.failed || item.agent) continue;
    const { name, input = {}, result } = item;
    if (name === "TodoWrite" && Array.isArray(input.todos)) {
      listed = input.todos.map((each) => ({ text: String(each.content ?? ""), status: String(each.status ?? "pending") }));
    } else if (name === "TaskCreate" && result !== null) {
      const id = /#(\w+)/.exec(typeof result === "string" ? result : "")?.[1];
      if (id) made.set(id, { text: String(input.subject ?? ""), status: "pending" });
    } else if (name === "TaskUpdate" && made.has(String(input.taskId))) {
      const task = made.get(String(input.taskId));
      if (input.status === "deleted") made.delete(String(input.taskId));
      else made.set(String(input.taskId), { text: String(input.subject ?? task.text), status: String(input.status ?? task.status) });
    }
  }
  return listed ?? [...made.values()];
}
