export const meta = {
  name: 'migrate',
  description: 'The same change over many repositories, each with its tests',
  whenToUse: 'args: {prompt, items, options}: each item has a repository; options have the checks',
}

const { prompt, items, options } = args
const attempt = (item, more) => agent(`${prompt}${more}`, { ...options, ...item.source, label: item.name, result: 'full' })
const results = await pipeline(
  items,
  item => attempt(item, ''),
  (first, item) => first?.kind !== 'check' ? first
    : attempt(item, `\n\nAn earlier attempt failed its check. ${first.message} Do it so that the check passes.`),
)
return items.map((item, index) => {
  const result = results[index]
  return { item: item.name, task: result?.task, status: result?.status, message: result?.message, changed: Boolean(result?.patch) }
})
