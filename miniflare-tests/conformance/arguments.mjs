// Arguments that only JavaScript can make, by name.

const ARGUMENTS = {
  'refuse infinite numbers': () => (_name, value) => {
    if (value === Infinity || value === -Infinity) throw new Error('JSON has no infinite numbers');
    return value;
  },
  'undefined members': () => ({ a: undefined, b: [undefined, null], c: { d: undefined } }),
  'not JSON': () => [
    1n,
    NaN,
    Infinity,
    Symbol('a'),
    () => 1,
    new Date(0),
    new Map([['a', 1]]),
    new Set(),
    new Uint8Array(2),
    new ArrayBuffer(2),
    /x/,
    Promise.resolve(),
    new (class A {})(),
    '\ud83d',
    { '\ude00': 1 },
  ],
  'cyclic object': () => {
    const cyclic = {};
    cyclic.cyclic = cyclic;
    return cyclic;
  },
  'cyclic list': () => {
    const cyclic = [];
    cyclic.push([cyclic]);
    return cyclic;
  },
  '64 levels': () => nest(64, (value, level) => (level % 2 ? [value] : { value })),
  '65 levels': () => nest(65, (value) => ({ value })),
  shared: () => nest(60, (value) => [value, value]),
};

function nest(levels, wrap) {
  let value = 1;
  for (let level = 0; level < levels; level++) value = wrap(value, level);
  return value;
}

globalThis.argument = (name) => ARGUMENTS[name]();
