// Records and changes the console's calls to the Worker.

import type { Tab } from './browser.ts';

/** Returns an array that collects the bodies of the calls of an operation from now on. */
export function recordBodies(tab: Tab, operation: string): any[] {
  const bodies: any[] = [];
  tab.page.on('request', (request) => {
    if (new URL(request.url()).pathname === `/v1/${operation}`) bodies.push(request.postDataJSON());
  });
  return bodies;
}

/** Delays the calls of an operation until the returned function is called. */
export async function delayCalls(tab: Tab, operation: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await tab.page.route(`**/v1/${operation}`, async (route) => {
    await promise;
    await route.fallback();
  });
  return resolve;
}

/** Answers the calls of an operation with a failure that the console does not retry. */
export async function failCalls(tab: Tab, operation: string, code: string, kind: string) {
  const failure = { code, kind, message: `${code}: of the test.`, remediation: 'None.', retryable: false };
  let calls = 0;
  await tab.page.route(`**/v1/${operation}`, (route) =>
    route.fulfill({ status: 409, json: { ...failure, correlationId: `call-${(calls += 1)}` } }),
  );
}

/** Marks the failures of an operation as not retryable, so that the console does not retry them. */
export async function disableRetries(tab: Tab, operation: string) {
  await tab.page.route(`**/v1/${operation}`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), retryable: false } });
  });
}

/** Makes the console read again what it shows, by the event of a restored network. */
export async function triggerRead(tab: Tab) {
  await tab.evaluate("void dispatchEvent(new Event('online'))");
}
