// Calls that go wrong on the way, as a plan has it: before they are carried out, after, late, or twice. Each that does is a
// line of the log, {"fault":…,"at":…}.

/** How often, how often at most, and from which seed; nothing while `rate` is 0. */
let plan = { rate: 0, most: 0 };
let state = 0;

/** From now on calls go wrong by this plan. */
export function arm(next) {
  plan = { ...next };
  state = next.seed ?? 0;
}

function random() {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}

const WAYS = ['fail', 'lose', 'slow', 'fail', 'lose', 'slow', 'twice'];

/**
 * Makes a call, which may go wrong. `broken` makes the error, and `again` says whether the call may come twice. What goes
 * well is answered as it is: calls may be made on it that are sent with it.
 */
function meddled(at, call, broken, again) {
  if (plan.most <= 0 || random() >= plan.rate) return call();
  const drawn = WAYS[Math.trunc(random() * WAYS.length)];
  const way = drawn === 'twice' && !again ? 'slow' : drawn;
  plan.most -= 1;
  console.log(JSON.stringify({ fault: way, at }));
  return wrong(way, call, broken);
}

async function wrong(way, call, broken) {
  if (way === 'fail') throw broken();
  if (way === 'slow') await new Promise((resolve) => setTimeout(resolve, 50 + random() * 350));
  if (way === 'twice') void Promise.resolve(call()).catch(() => {});
  const answer = await call();
  if (way === 'lose') throw broken();
  return answer;
}

/** What R2 throws when something is wrong with it. */
const r2 = (method) => () =>
  new Error(`${method}: We encountered an internal error. Please try again. (10001)`);

/** What the platform throws when a Durable Object can't be reached any more. */
const lost = () => Object.assign(new Error('Network connection lost.'), { retryable: true });

function watched(object, replace) {
  return new Proxy(object, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (typeof value !== 'function' || key === 'constructor') return value;
      if (typeof key === 'symbol') return value.bind(target);
      return (...list) => replace(key, () => target[key](...list));
    },
  });
}

const METHODS = ['get', 'head', 'put', 'delete', 'list'];

/** A bucket whose calls may go wrong. */
export const bucket = (real, of) =>
  watched(real, (key, call) =>
    METHODS.includes(key) ? meddled(`${of} R2 ${key}`, call, r2(key), key === 'delete') : call(),
  );

/** A stub whose calls may go wrong; what its objects tell each other may come twice. So may those on a session of the SDK. */
const stub = (real, of) =>
  watched(real, (method, send) => {
    if (method === 'getSession') return stub(send(), `${of} session`);
    return meddled(`${of} ${method}`, send, lost, method === 'receive');
  });

/** A namespace of Durable Objects, calls to which may go wrong. */
export const namespace = (real, of) =>
  watched(real, (key, call) => (key === 'get' || key === 'getByName' ? stub(call(), of) : call()));
