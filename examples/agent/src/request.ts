/**
 * Refuses a request that does not carry the token; answers nothing where it does.
 *
 * A browser sends a simple request to any address, also to 127.0.0.1, for every page that it shows, and a page whose name
 * resolves to this machine is of the same origin as the agent. Neither can know the token. So the token is required of every
 * request, and there is no answer that would let a page of another origin send the header `Authorization`.
 */
export async function refusal(request: Request, token: string | undefined): Promise<Response | undefined> {
  if (!token) {
    const text =
      'The agent is closed. Set the secret AGENT_TOKEN with `npx wrangler secret put AGENT_TOKEN`.';
    return new Response(text, { status: 503 });
  }
  const given = /^Bearer +(.+)$/i.exec(request.headers.get('Authorization') ?? '')?.[1];
  if (given !== undefined && (await isSame(given, token))) return undefined;
  return new Response('Send the header `Authorization: Bearer <AGENT_TOKEN>`.', {
    status: 401,
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}

/** Reads the list of arguments from the body of a POST of JSON; answers a refusal where there is none. */
export async function argumentsOf(request: Request): Promise<unknown[] | Response> {
  if (request.method !== 'POST')
    return new Response('Send a POST.', { status: 405, headers: { Allow: 'POST' } });
  const type = request.headers.get('Content-Type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json')
    return new Response('Send the header `Content-Type: application/json`.', { status: 415 });
  const list: unknown = await request.json().catch(() => undefined);
  return Array.isArray(list) ? list : new Response('Send the arguments as a list in JSON.', { status: 400 });
}

/** Compares two texts in a time that tells nothing about either. */
async function isSame(one: string, other: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return crypto.subtle.timingSafeEqual(await digest(one), await digest(other));
}
