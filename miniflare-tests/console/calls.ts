// What the console asks of the Worker, seen and changed on the way.

import type { Tab } from './browser.ts';

/** The bodies of the requests for an operation, as they are sent from now on. */
export function sent(tab: Tab, operation: string): any[] {
  const bodies: any[] = [];
  tab.page.on('request', (request) => {
    if (new URL(request.url()).pathname === `/v1/${operation}`) bodies.push(request.postDataJSON());
  });
  return bodies;
}

/** Holds the calls of an operation back until what is answered is called. */
export async function hold(tab: Tab, operation: string): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await tab.page.route(`**/v1/${operation}`, async (route) => {
    await promise;
    await route.fallback();
  });
  return resolve;
}

/** Answers the calls of an operation with a failure that is not tried again. */
export async function refuse(tab: Tab, operation: string, code: string, kind: string) {
  const failure = { code, kind, message: `${code}: of the test.`, remediation: 'None.', retryable: false };
  let calls = 0;
  await tab.page.route(`**/v1/${operation}`, (route) =>
    route.fulfill({ status: 409, json: { ...failure, correlationId: `call-${(calls += 1)}` } }),
  );
}

/** Has the failures of an operation be final, so that the console does not try again. */
export async function tryOnce(tab: Tab, operation: string) {
  await tab.page.route(`**/v1/${operation}`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), retryable: false } });
  });
}

/** Has the console read again what it shows, as after its network came back. */
export async function lookAgain(tab: Tab) {
  await tab.evaluate("void dispatchEvent(new Event('online'))");
}
