// Injects faults into calls by a plan: a call fails before it is carried out, loses its answer, is slow, or arrives twice. Logs
// each fault as {"fault":…,"at":…}.

/** The fault plan: the probability of a fault, the maximum number of faults, and the seed. */
let plan = { rate: 0, most: 0 };
let state = 0;

/** Sets the fault plan. */
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

const FAULTS = ['fail', 'lose', 'slow', 'fail', 'lose', 'slow', 'twice'];

/**
 * Makes a call with a possible fault. `makeError` creates the error, and `mayRepeat` is whether the call may arrive twice. A call
 * without a fault returns the original promise, so that calls can be pipelined on it.
 */
function withFaults(at, call, makeError, mayRepeat) {
  if (plan.most <= 0 || random() >= plan.rate) return call();
  const drawn = FAULTS[Math.trunc(random() * FAULTS.length)];
  const fault = drawn === 'twice' && !mayRepeat ? 'slow' : drawn;
  plan.most -= 1;
  console.log(JSON.stringify({ fault, at }));
  return callWithFault(fault, call, makeError);
}

async function callWithFault(fault, call, makeError) {
  if (fault === 'fail') throw makeError();
  if (fault === 'slow') await new Promise((resolve) => setTimeout(resolve, 50 + random() * 350));
  if (fault === 'twice') void Promise.resolve(call()).catch(() => {});
  const answer = await call();
  if (fault === 'lose') throw makeError();
  return answer;
}

/** Creates an error of R2. */
const r2Error = (method) => () =>
  new Error(`${method}: We encountered an internal error. Please try again. (10001)`);

/** Creates the platform's error for an unreachable Durable Object. */
const connectionLost = () => Object.assign(new Error('Network connection lost.'), { retryable: true });

function wrapped(object, replace) {
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

/** Wraps a bucket, with faults in its calls. */
export const bucket = (real, of) =>
  wrapped(real, (key, call) =>
    METHODS.includes(key) ? withFaults(`${of} R2 ${key}`, call, r2Error(key), key === 'delete') : call(),
  );

/** Wraps a stub, with faults in its calls and in those of SDK sessions. Messages between the Worker's objects may arrive twice. */
const stub = (real, of) =>
  wrapped(real, (method, send) => {
    if (method === 'getSession') return stub(send(), `${of} session`);
    return withFaults(`${of} ${method}`, send, connectionLost, method === 'receive');
  });

/** Wraps a namespace of Durable Objects, with faults in the calls to its objects. */
export const namespace = (real, of) =>
  wrapped(real, (key, call) => (key === 'get' || key === 'getByName' ? stub(call(), of) : call()));
