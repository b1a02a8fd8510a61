// The snapshotter's Worker with a clock that tests can advance. Alarms and time limits that become due fire at once. Tests can
// also read the rows of its objects, abort the objects, take the Directories down, and make sandboxes leave calls unanswered.
// Another Worker must export the class of the sandboxes, and uses the real time. For the snapshotter, containers are older by
// the time by which its clock was advanced.

import Snapshotter, { NamedWorkspace as RealNamed, Workspace as Real } from '../../src/entry.mjs';

export { ContainerProxy, Directory, Sandbox } from '../../src/entry.mjs';

const now = Date.now;
let offset = 0;
Date.now = () => now() + offset;

/** Advances the clock, in steps of 10 ms, the resolution of a system's uptime. */
function advanceTo(at) {
  offset += Math.max(0, Math.ceil((at - Date.now()) / 10) * 10);
}

/** Timers of at least this many milliseconds follow the clock: they are time limits. */
const MIN_TIME_LIMIT = 30_000;
const { setTimeout, setInterval } = globalThis;
globalThis.setTimeout = (passed, millis, ...list) => {
  if (!(millis >= MIN_TIME_LIMIT)) return setTimeout(passed, millis, ...list);
  const due = Date.now() + millis;
  const timer = setInterval(() => {
    if (Date.now() < due) return;
    clearInterval(timer);
    passed(...list);
  }, 10);
  return timer;
};

const TRANSIENT_ROWS = `
  SELECT 'snapshot ' || record AS what FROM snapshots WHERE state IN ('creating', 'deleting')
  UNION ALL SELECT 'sandbox ' || record FROM derivations WHERE settled = 0
  UNION ALL SELECT 'call ' || record FROM requests WHERE answered = 0
  UNION ALL SELECT 'release ' || record FROM releases
  UNION ALL SELECT 'container ' || record FROM workspace WHERE record ->> '$.binding.restoreTask' IS NOT NULL`;

const TRANSIENT_NAMED_ROWS = `
  SELECT 'named ' || record AS what FROM home WHERE record ->> '$.state' IN ('provisioning', 'stopping', 'restoring')
    OR record ->> '$.tasks' != '[]' OR record ->> '$.directoryVersion' < record ->> '$.version'`;

/** Wraps an object. `replace` overrides methods: each override receives the original call and its arguments. */
function withOverrides(object, replace) {
  const get = (target, key) => {
    const value = Reflect.get(target, key);
    if (typeof value !== 'function' || key === 'constructor') return value;
    return (...list) => {
      const call = (given = list) => target[key](...given);
      return replace[key] === undefined ? call() : replace[key](call, list);
    };
  };
  return new Proxy(object, { get: (target, key) => get(target, key) });
}

/** The methods of sandboxes that leave calls unanswered, and whether these calls are carried out. */
let unansweredMethods = {};
/** The number of calls that were left unanswered. */
let unanswered = 0;

/** Overrides a method so that it can leave calls unanswered. Otherwise `then` makes the call. */
const answerable =
  (method, then = (run) => run()) =>
  (run, list) => {
    const mode = unansweredMethods[method];
    if (mode === undefined) return then(run, list);
    unanswered += 1;
    if (mode === 'carried out') Promise.resolve(run()).catch(() => {});
    return Object.assign(new Promise(() => {}), { [Symbol.dispose]: () => {} });
  };

const IN_SESSIONS = {
  exec: answerable('exec', withUptimeOffset),
  createBackup: answerable('createBackup'),
  restoreBackup: answerable('restoreBackup'),
};
const OF_SANDBOXES = {
  getState: answerable('getState'),
  configure: answerable('configure'),
  setEnvVars: answerable('setEnvVars'),
  destroy: answerable('destroy'),
  execWithSessionToken: answerable('execWithSessionToken', withUptimeOffset),
  getSession: (call) => withOverrides(call(), IN_SESSIONS),
};

/** Wraps a sandbox so that commands read an uptime that follows the clock. */
const sandboxClient = (call) => withOverrides(call(), OF_SANDBOXES);

// `ran` is compared with the clock of the machine, which does not move.
const UPTIME = /read -r (?!ran )(\w+) _ <\/proc\/uptime/g;

/** Runs a command with an uptime that includes the clock's offset. */
function withUptimeOffset(run, list) {
  const addOffset = (text, up) =>
    `${text}; ${up}=$((10#\${${up}/./} + ${offset / 10})); ${up}=\${${up}%??}.\${${up}: -2}`;
  return run(list.map((given) => (typeof given === 'string' ? given.replace(UPTIME, addOffset) : given)));
}

/** Whether the Directories are down: their calls fail. */
let isDirectoryDown = false;
const directoryClient = (call) =>
  withOverrides(call(), {
    receive: (run) => {
      if (isDirectoryDown) throw new Error('the Directory is down');
      return run();
    },
  });

/** Extends the class of an object: its alarm follows the clock, and it can be aborted. `table` stores the alarm's time. */
const withClock = (Class, table, transientRowsQuery) =>
  class extends Class {
    /** Queries its tables, which do not exist before the first write. */
    rows(query) {
      const hasSchema = "SELECT 1 FROM sqlite_schema WHERE name = 'schema'";
      const { sql } = this.ctx.storage;
      return sql.exec(hasSchema).toArray().length > 0 ? sql.exec(query).toArray() : [];
    }

    /** Returns the time of its alarm from its table. The runtime has no alarm while the alarm handler runs. */
    alarmDueAt() {
      return this.rows(`SELECT alarm_at AS at FROM ${table}`)[0]?.at ?? null;
    }

    runAlarm() {
      return this.alarm();
    }

    /** Fires its alarm as the platform does, which has no alarm while the handler runs. */
    async fireAlarm() {
      await this.ctx.storage.deleteAlarm();
      await this.alarm();
      return this.ctx.storage.getAlarm();
    }

    transientRows() {
      return this.rows(transientRowsQuery).map(({ what }) => what);
    }

    alarmAt() {
      return this.ctx.storage.getAlarm();
    }

    abortObject() {
      this.ctx.abort('ended by a test');
    }

    async abortObjectInAlarm() {
      void this.alarm();
      await this.ctx.storage.sync();
      this.abortObject();
    }
  };

export class Workspace extends withClock(Real, 'workspace', TRANSIENT_ROWS) {
  constructor(ctx, env) {
    super(ctx, {
      ...env,
      Sandbox: withOverrides(env.Sandbox, { get: sandboxClient, getByName: sandboxClient }),
    });
  }
}

export class NamedWorkspace extends withClock(RealNamed, 'home', TRANSIENT_NAMED_ROWS) {
  constructor(ctx, env) {
    super(ctx, {
      ...env,
      Directory: withOverrides(env.Directory, { get: directoryClient, getByName: directoryClient }),
    });
  }

  /** Returns every sandbox in its record. */
  sandboxIds() {
    const [row] = this.rows('SELECT record FROM home');
    const none = '{"formerSandboxIds":[],"tasks":[]}';
    const { sandboxId, formerSandboxIds, tasks } = JSON.parse(row?.record ?? none);
    return [
      ...new Set([...(sandboxId ? [sandboxId] : []), ...formerSandboxIds, ...tasks.flatMap(Object.values)]),
    ];
  }
}

export default class extends Snapshotter {
  constructor(ctx, env) {
    super(ctx, {
      ...env,
      Directory: withOverrides(env.Directory, { get: directoryClient, getByName: directoryClient }),
    });
  }

  #objects({ sandboxId, sandboxIds = sandboxId === undefined ? [] : [sandboxId], name, tenant = 'default' }) {
    const named = name === undefined ? [] : [this.env.NamedWorkspace.getByName(`${tenant}/${name}`)];
    return [...named, ...sandboxIds.map((id) => this.env.Workspace.getByName(id))];
  }

  /** Advances the clock, and runs the alarms of the objects that become due. */
  async advanceClock({ seconds, ...options }) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const objects = this.#objects(options);
      const times = await Promise.all(objects.map((object) => object.alarmDueAt()));
      const next = Math.min(...times.map((at) => at ?? Infinity));
      if (next > end) break;
      advanceTo(next);
      await objects[times.indexOf(next)].runAlarm();
    }
    advanceTo(end);
  }

  /** Resets the clock to the real time. */
  resetClock() {
    offset = 0;
  }

  /** Takes the Directories down, or up again. */
  setDirectoryDown(options) {
    isDirectoryDown = options.down;
  }

  /** Makes methods of sandboxes leave calls unanswered from now on: `{method: 'carried out' | 'lost'}`. */
  leaveUnanswered(methods) {
    unansweredMethods = methods;
    unanswered = 0;
  }

  /** Returns the number of calls that were left unanswered since {@link leaveUnanswered}. */
  unanswered() {
    return unanswered;
  }

  /** The rows of the objects that are in a transient state. */
  async transientRows(options) {
    const rows = await Promise.all(this.#objects(options).map((object) => object.transientRows()));
    return rows.flat();
  }

  /** Returns every sandbox in the record of a named workspace. */
  sandboxIds(options) {
    return this.#objects(options)[0].sandboxIds();
  }

  /** Aborts the object, as a deployment does. The next call starts a new instance. */
  async abortObject(options) {
    await this.#objects(options)[0].abortObject();
  }

  /** Fires the object's alarm, and returns the time of the next one. */
  fireAlarm(options) {
    return this.#objects(options)[0].fireAlarm();
  }

  alarmAt(options) {
    return this.#objects(options)[0].alarmAt();
  }

  /** Aborts the object while its alarm handler runs. */
  async abortObjectInAlarm(options) {
    await this.#objects(options)[0].abortObjectInAlarm();
  }
}
