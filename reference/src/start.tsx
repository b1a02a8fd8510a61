// The start page: how to call the API, and its operations.

import { Examples } from './code.tsx';
import { Contents } from './contents.tsx';
import type { Document } from './document.ts';
import { FIRST_CALL } from './first-call.ts';
import { capital } from './capital.ts';
import { Line, Text } from './text.tsx';

/** The content of the start page. */
export function Start({ document }: { document: Document }) {
  const [intro = '', call = ''] = document.info.description.split('\n\n');
  return (
    <>
      <h1>
        HTTP API <small>{document.info.version}</small>
      </h1>
      <p class="intro">
        <Line text={intro} />
      </p>
      <section id="call" aria-labelledby="call-title">
        <h2 id="call-title">Call an operation</h2>
        <div class="pair">
          <div>
            <Text text={call} />
            <p>
              The body is required and has at most 64 KiB. It is <code>{'{}'}</code> for an operation without
              options. An option that is <code>null</code> counts as absent. Times are in UTC:{' '}
              <code>2026-11-20T05:01:00.005Z</code>.
            </p>
            <p>
              Names, options and answers are the same over a service binding, with the TypeScript client and
              with the Rust client. The command line calls the same operations.
            </p>
          </div>
          <div class="aside">
            <Examples examples={FIRST_CALL} label="The first call" />
            <p>
              This call creates the workspace <code>notebook</code>, which the examples of the other pages
              use. Those of operations without workspaces use the sandbox <code>agent-42</code> of an
              application: with <code>npm run dev</code>, the first command that you send to{' '}
              <code>/42/run</code> of the example agent starts it. Replace the ids of snapshots and the refs
              by those in your answers.
            </p>
          </div>
        </div>
      </section>
      <section id="authorization" aria-labelledby="authorization-title">
        <h2 id="authorization-title">Authorization</h2>
        <p>
          Send the header <code>Authorization: Bearer &lt;token&gt;</code>, with the <code>API_TOKEN</code> or
          an access token. <code>API_TOKEN</code> is a secret of the Worker: set it with{' '}
          <code>npx wrangler secret put API_TOKEN</code>. <code>npm run dev</code> prints that of a local
          Worker. It permits every operation. Without the secret, every call fails with{' '}
          <a href="/docs/errors#API_TOKEN_MISSING">API_TOKEN_MISSING</a>. A wrong token fails with{' '}
          <a href="/docs/errors#UNAUTHORIZED">UNAUTHORIZED</a>.
        </p>
        <p>
          An access token, from <a href="/docs/tokens#v1-tokens-create">tokens/create</a>, permits some
          operations on all workspaces or on some of them. Each operation names the permission that it needs.
        </p>
        <p>
          A token for tools, from <a href="/docs/tools#v1-tools-grant">tools/grant</a>, permits only some
          tools at <a href="/docs/tools#mcp">/mcp</a>. <code>/healthz</code>, <code>/openapi.json</code> and
          these pages need no token.
        </p>
      </section>
      <section id="repeat" aria-labelledby="repeat-title">
        <h2 id="repeat-title">Repeat a call</h2>
        <p>
          An answer can be lost in transit. Pass an <code>idempotencyKey</code> to the operations that create
          something: a repeated call with the same key and the same options takes effect once, and gets the
          same answer for two days. Another call with a used key fails with{' '}
          <a href="/docs/errors#IDEMPOTENCY_CONFLICT">IDEMPOTENCY_CONFLICT</a>. The clients generate a key for
          each call that has none.
        </p>
      </section>
      <section id="pages" aria-labelledby="pages-title">
        <h2 id="pages-title">Read a list</h2>
        <p>
          A list returns a page of at most <code>limit</code> items, and a <code>cursor</code> if there are
          more. Pass the cursor to get the next page.
        </p>
      </section>
      <section id="errors" aria-labelledby="errors-title">
        <h2 id="errors-title">Errors</h2>
        <p>
          An error is <code>application/problem+json</code> (RFC 9457) with a stable <code>code</code>, a{' '}
          <code>message</code>, and a <code>remediation</code> that says what to do. <code>retryable</code>{' '}
          says whether the same call may succeed later. <a href="/docs/errors">Errors</a> lists the fields and
          all codes.
        </p>
      </section>
      <section id="guides" aria-labelledby="guides-title">
        <h2 id="guides-title">Guides</h2>
        <p>
          These pages list the operations. <a href="/docs/guides">The guides</a> explain their use:{' '}
          <a href="/docs/guides/getting-started">the first snapshot</a>,{' '}
          <a href="/docs/guides/add-to-an-agent">how an agent calls the Worker</a>,{' '}
          <a href="/docs/guides/concepts">workspaces, sandboxes and snapshots</a>, and{' '}
          <a href="/docs/guides/operations">a deployment</a>.
        </p>
      </section>
      <h2 id="operations">Operations</h2>
      {document.tags.map(({ name, description }) => (
        <section key={name} id={name} aria-labelledby={`${name}-title`}>
          <h3 id={`${name}-title`}>
            <a href={`/docs/${name}`}>{capital(name)}</a>
          </h3>
          <p>
            <Line text={description} />
          </p>
          <Contents document={document} tag={name} hasAnchors />
        </section>
      ))}
    </>
  );
}
