/**
 * Returns the error response for a request without the token, or `undefined` if the token is correct.
 *
 * A browser lets every web page send simple requests to any address, including 127.0.0.1, and a page whose domain resolves
 * to this machine has the same origin as the agent. Such pages don't have the token. Every request therefore needs the
 * token, and no response permits pages of other origins to send the header `Authorization`.
 */
export async function checkToken(request: Request, token: string | undefined): Promise<Response | undefined> {
  if (!token) {
    const text =
      'The agent refuses all requests, because AGENT_TOKEN is not set. Set it with `npx wrangler secret put AGENT_TOKEN`.';
    return new Response(text, { status: 503 });
  }
  const bearer = /^Bearer +(.+)$/i.exec(request.headers.get('Authorization') ?? '')?.[1];
  if (bearer !== undefined && (await isSame(bearer, token))) return undefined;
  return new Response('Send the header `Authorization: Bearer <AGENT_TOKEN>`.', {
    status: 401,
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

/** Parses the arguments from the body of the request: a JSON array. Returns an error response if the request is invalid. */
export async function parseArguments(request: Request): Promise<unknown[] | Response> {
  if (request.method !== 'POST')
    return new Response('Use the method POST.', { status: 405, headers: { Allow: 'POST' } });
  const type = request.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    return new Response('Send the header `Content-Type: application/json`.', { status: 415 });
  const args: unknown = await request.json().catch(() => undefined);
  return Array.isArray(args) ? args : new Response('Send the arguments as a JSON array.', { status: 400 });
}

/** Compares two texts in constant time. */
async function isSame(left: string, right: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return crypto.subtle.timingSafeEqual(await digest(left), await digest(right));
}
