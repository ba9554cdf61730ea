export const meta = {
  name: 'map',
  description: 'One prompt over many repositories, folders or files',
  whenToUse: 'args: {prompt, items, options}: each item has repository, folder or files',
}

const { prompt, items, options } = args
const results = await parallel(items.map(item => () => agent(prompt.replaceAll('{item}', item.name), {
  ...options, ...item.source, label: item.name, result: 'full',
})))
return items.map((item, index) => ({ item: item.name, ...results[index] }))
