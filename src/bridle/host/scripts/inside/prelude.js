// What a workflow script finds when it starts. Evaluates to one function by which the child talks to the script.
// Everything that is needed later is taken from the globals here, before the script can change them.
(() => {
  const { stringify, parse } = JSON
  const { apply, construct } = Reflect
  const { create, defineProperty, freeze, hasOwn, keys } = Object
  const { isArray, prototype: { push, join, pop, includes } } = Array
  const { isFinite } = Number
  const Later = Promise
  const then = Promise.prototype.then
  const tagOf = Object.prototype.toString
  const slice = String.prototype.slice
  const text = String
  const max = Math.max
  const SystemDate = Date
  const Fault = Error

  const LARGEST_VALUE = 1_000_000
  const LONGEST_LINE = 10_000
  const MOST_ITEMS = 4096
  const MOST_UNSENT = 20_000
  const DEEPEST = 100

  let outbox = []
  let lastId = 0
  let spent = 0
  let total = null
  let openPhase = null
  let waiting = 0
  let ended = false
  let checked = false
  const promises = create(null)

  // Calls to the outside

  const agent = (prompt, given) => {
    const options = given ?? {}
    if (typeof prompt !== 'string' || prompt === '') throw new Fault('agent() needs its prompt as text')
    if (typeof options !== 'object') throw new Fault('the options of agent() are an object')
    const phase = typeof options.phase === 'string' ? options.phase : openPhase
    return ask('agent', { prompt, options, phase })
  }

  const workflow = (...given) => {
    const name = given[0]
    if (typeof name !== 'string' && typeof name?.scriptPath !== 'string') {
      throw new Fault('workflow() needs a name, or an object with scriptPath')
    }
    return ask('workflow', given[1] === undefined ? { workflow: name } : { workflow: name, args: given[1] })
  }

  const phase = title => {
    if (typeof title !== 'string' || title === '') throw new Fault('phase() needs a title')
    openPhase = shortened(title)
    tell('phase', { title: openPhase })
  }

  const log = (...parts) => {
    const said = []
    for (let i = 0; i < parts.length; i++) said[i] = spoken(parts[i])
    tell('log', { message: shortened(apply(join, said, [' '])) })
  }

  // Many at once

  // `return await`: a bare return would look up the `then` of the moment.
  const parallel = async thunks => {
    checkList(thunks, 'parallel()')
    for (let i = 0; i < thunks.length; i++) {
      if (typeof thunks[i] !== 'function') throw new Fault('parallel() takes functions: write () => agent(…)')
    }
    return await forEach(thunks, (thunk, index) => orNull('parallel()', index, thunk))
  }

  const pipeline = async (items, ...stages) => {
    checkList(items, 'pipeline()')
    for (let i = 0; i < stages.length; i++) {
      if (typeof stages[i] !== 'function') throw new Fault('the stages of pipeline() are functions')
    }
    return await forEach(items, (item, index) => orNull('pipeline()', index, async () => {
      let value = item
      for (let i = 0; i < stages.length; i++) value = await stages[i](value, item, index)
      return value
    }))
  }

  const forEach = (list, work) => new Later((resolve, reject) => {
    const results = []
    let left = list.length
    if (left === 0) resolve(results)
    const keep = index => value => {
      results[index] = value
      if (--left === 0) resolve(results)
    }
    for (let i = 0; i < list.length; i++) apply(then, work(list[i], i), [keep(i), reject])
  })

  const orNull = async (where, index, work) => {
    try {
      return await work()
    } catch (error) {
      log(`${where}: item ${index} is null: ${describe(error).message}`)
      return null
    }
  }

  const checkList = (list, where) => {
    if (!isArray(list)) throw new Fault(`${where} takes an array`)
    if (list.length > MOST_ITEMS) {
      throw new Fault(`${where} takes at most ${MOST_ITEMS} items, and these are ${list.length}`)
    }
  }

  // The wire: one line of JSON for each call; numbers are given in the order of the calls

  const ask = (kind, payload) => {
    const site = stackOf(new Fault())
    const id = send(kind, payload, site)
    waiting++
    return new Later((resolve, reject) => { promises[id] = { resolve, reject, site } })
  }

  const tell = (kind, payload) => { send(kind, payload, '') }

  const send = (kind, payload, stack) => {
    if (outbox.length >= MOST_UNSENT) throw new Fault(`more than ${MOST_UNSENT} calls without an await between them`)
    const carried = carry(payload, `${kind}()`)
    lastId++
    append(`{"id":${lastId},"kind":"${kind}","payload":${carried},"stack":${stringify(stack)}}`)
    return lastId
  }

  const append = line => apply(push, outbox, [line])

  const settle = line => {
    const answer = parse(line)
    spent = answer.spent
    const waiter = promises[answer.id]
    if (waiter === undefined) return
    delete promises[answer.id]
    waiting--
    if (hasOwn(answer, 'value')) return void waiter.resolve(answer.value)
    const fault = new Fault(answer.error)
    defineProperty(fault, 'stack', { __proto__: null, value: waiter.site })
    waiter.reject(fault)
  }

  const finish = value => {
    if (ended) return
    let carried
    try {
      carried = value === undefined ? 'null' : carry(value, 'result')
    } catch (error) {
      return void fail('value', describe(error))
    }
    ended = true
    append(`{"kind":"end","value":${carried}}`)
  }

  const fail = (kind, { message, stack }) => {
    if (ended) return
    ended = true
    append(`{"kind":"error","error":"${kind}","message":${stringify(message)},"stack":${stringify(stack)}}`)
  }

  // Values: only what JSON can carry, and not too much of it

  const carry = (value, name) => {
    const room = { left: LARGEST_VALUE, above: [] }
    inspect(value, name, room)
    const carried = stringify(value) ?? 'null'
    if (carried.length > LARGEST_VALUE) throw tooLarge(name)
    return carried
  }

  const inspect = (value, path, room) => {
    if (typeof value === 'string') room.left -= value.length
    if (--room.left < 0) throw tooLarge(path)
    if (value === null || typeof value === 'string' || typeof value === 'boolean' || value === undefined) return
    if (typeof value === 'number' && isFinite(value)) return
    if (typeof value !== 'object') throw unfit(path, typeof value === 'number' ? text(value) : `a ${typeof value}`)
    const tag = apply(slice, apply(tagOf, value, []), [8, -1])
    if (tag === 'Promise') throw unfit(path, 'a promise: await it first')
    if (tag === 'Map' || tag === 'Set' || tag === 'Error') throw unfit(path, `${tag === 'Error' ? 'an' : 'a'} ${tag}: make it a plain object or array`)
    if (typeof value.toJSON === 'function') return
    if (apply(includes, room.above, [value])) throw unfit(path, 'an object that contains itself')
    if (room.above.length >= DEEPEST) throw unfit(path, 'nested too deeply')
    apply(push, room.above, [value])
    if (isArray(value)) {
      for (let i = 0; i < value.length; i++) inspect(value[i], `${path}[${i}]`, room)
    } else {
      const names = keys(value)
      for (let i = 0; i < names.length; i++) {
        room.left -= names[i].length
        inspect(value[names[i]], `${path}.${names[i]}`, room)
      }
    }
    apply(pop, room.above, [])
  }

  const unfit = (path, what) => new Fault(`${short(path)} cannot be sent as JSON, it is ${what}`)
  const tooLarge = path => new Fault(`${short(path)} is larger than ${LARGEST_VALUE} characters of JSON`)
  const short = path => (path.length > 200 ? `${apply(slice, path, [0, 200])}…` : path)
  const shortened = said => (said.length > LONGEST_LINE ? `${apply(slice, said, [0, LONGEST_LINE])}…` : said)

  const spoken = value => {
    if (typeof value === 'string') return value
    if (value instanceof Fault) return describe(value).message
    try {
      return carry(value, 'it')
    } catch {
      return typeof value === 'object' ? apply(tagOf, value, []) : text(value)
    }
  }

  // Whatever a script throws, even an object that throws when it is looked at
  const describe = error => {
    try {
      if (!(error instanceof Fault)) return { message: shortened(spoken(error)), stack: '' }
      const name = error.name === 'Error' ? '' : `${error.name}: `
      return { message: shortened(`${name}${error.message}`), stack: stackOf(error) }
    } catch {
      return { message: 'something that cannot be shown was thrown', stack: '' }
    }
  }

  const stackOf = error => (typeof error.stack === 'string' ? apply(slice, error.stack, [0, 4000]) : '')

  // Globals: what would differ from run to run is refused, so that a run can be taken up again

  const refuse = what => () => {
    throw new Fault(`${what} differs from run to run: pass the value in args`)
  }

  function WorkflowDate(...given) {
    if (new.target === undefined || given.length === 0) refuse('the current time')()
    return construct(SystemDate, given, new.target)
  }

  const offer = (name, value, writable = false) => {
    defineProperty(globalThis, name, { value, writable, enumerable: false, configurable: false })
  }

  const furnish = () => {
    defineProperty(WorkflowDate, 'name', { value: 'Date' })
    defineProperty(WorkflowDate, 'prototype', { value: SystemDate.prototype, writable: false })
    defineProperty(SystemDate.prototype, 'constructor', { value: WorkflowDate })
    WorkflowDate.parse = SystemDate.parse
    WorkflowDate.UTC = SystemDate.UTC
    WorkflowDate.now = refuse('Date.now()')
    defineProperty(Math, 'random', { value: refuse('Math.random()'), writable: false, configurable: false })
    for (const name of ['performance', 'WeakRef', 'FinalizationRegistry', 'Atomics', 'SharedArrayBuffer']) {
      delete globalThis[name]
    }
    const remaining = () => (total === null ? Infinity : max(0, total - spent))
    const budget = { get total() { return total }, spent: () => spent, remaining }
    const console = { log, info: log, warn: log, error: log, debug: log }
    for (const [name, value] of [
      ['Date', WorkflowDate], ['agent', agent], ['parallel', parallel], ['pipeline', pipeline],
      ['phase', phase], ['log', log], ['workflow', workflow], ['budget', budget], ['console', console],
    ]) offer(name, freeze(value))
  }

  furnish()

  const operations = freeze({
    __proto__: null,
    begin: line => {
      const start = parse(line)
      offer('args', start.args, true)
      total = start.total
      spent = start.spent
      checked = start.check
      return start.source
    },
    run: body => {
      if (checked) finish()
      else apply(then, body(), [finish, error => fail('thrown', describe(error))])
    },
    settle,
    fail: (kind, message, stack) => fail(kind, { message: shortened(message), stack }),
    drain: () => {
      if (!ended && waiting === 0) {
        fail('stalled', { message: 'the script waits for something that never comes: no agent is running', stack: '' })
      }
      const lines = outbox
      outbox = []
      apply(push, lines, [''])
      return apply(join, lines, ['\n'])
    },
    isOver: () => ended,
  })
  return (operation, ...given) => apply(operations[operation], undefined, given)
})()
