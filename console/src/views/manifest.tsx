// A manifest: everything that is known of a snapshot.

import type { ComponentChildren } from 'preact';

import type { Manifest } from '../../../client/src/index.ts';
import { href, type Selected } from '../routes.ts';
import { exactDuration, size } from '../texts.ts';
import { Badge } from '../ui/badge.tsx';
import { Copy, Id } from '../ui/copy.tsx';
import { Fact, Facts, Moment } from '../ui/facts.tsx';
import { Name } from '../ui/name.tsx';
import type { At } from './details.ts';

const RESTORABLE = { yes: 'yes', no: 'no', unknown: 'not known' } as const;

/** A manifest to read. */
export function ManifestFacts({ of, at }: { of: Manifest; at: At }) {
  const link = (selected: Selected, text: ComponentChildren) => (
    <a href={href(at({ selected }))}>
      <Name of={text} />
    </a>
  );
  const { parent, removal, compression } = of;
  return (
    <>
      <Facts>
        <Fact name="Id">
          <Id of={of.snapshotId} what="snapshot id" />
        </Fact>
        <Fact name="Ref">
          {of.ref && (
            <span class="id">
              signed, for programs <Copy text={JSON.stringify(of.ref)} what="ref" />
            </span>
          )}
        </Fact>
        <Fact name="Taken">
          <Moment at={of.createdAt} />
        </Fact>
        <Fact name="Gone">
          {removal && (
            <>
              <Moment at={removal.at} />: {removal.reason}
            </>
          )}
        </Fact>
        <Fact name="Size">{of.sizeBytes !== undefined && size(of.sizeBytes)}</Fact>
        <Fact name="Directory">
          <code>{of.dir}</code>
        </Fact>
        <Fact name="Can be restored">
          <Badge
            tone={of.restorable === 'yes' ? 'good' : of.restorable === 'no' ? 'bad' : 'plain'}
            icon={of.restorable === 'yes' ? 'check' : of.restorable === 'no' ? 'cross' : 'dash'}
          >
            {RESTORABLE[of.restorable]}
          </Badge>{' '}
          {of.why}
        </Fact>
        <Fact name="Goes">
          {of.expiresAt ? <Moment at={of.expiresAt} /> : of.pinned ? 'never, while it is pinned' : undefined}
        </Fact>
        <Fact name="Last used">
          <Moment at={of.lastUsedAt} />
        </Fact>
        <Fact name="Needed by">
          {of.dependents.length > 0 && (
            <ul class="plain">
              {of.dependents.map((sandboxId) => (
                <li key={sandboxId}>{link({ sandboxId }, sandboxId)}</li>
              ))}
            </ul>
          )}
        </Fact>
        <Fact name="Made from it">
          {of.derived.length > 0 && (
            <ul class="plain">
              {of.derived.map(({ sandboxId, lineage, needsSnapshot, beganAt }) => (
                <li key={sandboxId}>
                  {link({ sandboxId }, sandboxId)}{' '}
                  <span class="hint">
                    {lineage === 'branch' ? 'branched' : 'restored'}, <Moment at={beganAt} />
                    {needsSnapshot && ', needs it'}
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Fact>
        <Fact name="Before it">
          {parent && link({ sandboxId: parent.originId, snapshotId: parent.snapshotId }, parent.snapshotId)}
        </Fact>
      </Facts>
      <details class="more">
        <summary>How it was captured and stored</summary>
        <Facts>
          <Fact name="Capture began">
            <Moment at={of.captureBeganAt} />
          </Fact>
          <Fact name="Left out">{of.excludes.length > 0 && <Lines of={of.excludes} />}</Fact>
          <Fact name="What git ignores">{of.gitignore ? 'left out' : 'is in it'}</Fact>
          <Fact name="Compression">
            {compression &&
              [compression.format, compression.threads && `${compression.threads} threads`]
                .filter(Boolean)
                .join(', ')}
          </Fact>
          <Fact name="Own expiration">
            {of.expirationSeconds !== undefined &&
              (of.expirationSeconds === 0
                ? 'never'
                : `${exactDuration(of.expirationSeconds)} after its last use`)}
          </Fact>
          <Fact name="The SDK restores it until">
            <Moment at={of.usableUntil} />
          </Fact>
          <Fact name="Looked for in R2">
            <Moment at={of.checkedAt} />
          </Fact>
          <Fact name="Origin">{link({ sandboxId: of.originId }, of.originId)}</Fact>
          <Fact name="First sandbox">{link({ sandboxId: of.rootId }, of.rootId)}</Fact>
          <Fact name="Came in by import">{of.imported ? 'yes' : 'no'}</Fact>
          <Fact name="Checksum">{of.checksum && <code class="long">{of.checksum}</code>}</Fact>
          <Fact name="Objects in R2">{of.objects.length > 0 && <Lines of={of.objects} />}</Fact>
          <Fact name="Manifest version">{of.schemaVersion}</Fact>
        </Facts>
      </details>
    </>
  );
}

function Lines({ of }: { of: string[] }) {
  return (
    <ul class="plain">
      {of.map((line) => (
        <li key={line}>
          <code class="long">{line}</code>
        </li>
      ))}
    </ul>
  );
}
