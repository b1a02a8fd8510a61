// The manifest of a snapshot.

import type { ComponentChildren } from 'preact';

import type { Manifest } from '../../../client/src/index.ts';
import { now } from '../clock.ts';
import { href, type Selected } from '../routes.ts';
import { exactDuration, readable, size } from '../format.ts';
import { Badge } from '../ui/badge.tsx';
import { Copy, Id } from '../ui/copy.tsx';
import { Fact, Facts, Moment } from '../ui/facts.tsx';
import { Name } from '../ui/name.tsx';
import type { PlaceFor } from './details.ts';
import { fullForm, whyFull } from './full-reasons.ts';

const RESTORABLE = { yes: 'yes', no: 'no', unknown: 'unknown' } as const;

/** The milliseconds after which a time limit is not worth showing: ten years. */
const FAR = 10 * 365 * 86_400_000;

function isSoon(time: string | undefined): boolean {
  return time !== undefined && Date.parse(time) - now.value < FAR;
}

/** The fields of a manifest. */
export function ManifestFacts({ of, placeFor }: { of: Manifest; placeFor: PlaceFor }) {
  const link = (selected: Selected, text: ComponentChildren) => (
    <a href={href(placeFor({ selected }))}>
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
              signed, for API calls <Copy text={JSON.stringify(of.ref)} what="ref" />
            </span>
          )}
        </Fact>
        <Fact name="Taken">
          <Moment at={of.createdAt} />
        </Fact>
        <Fact name="Removed">
          {removal && (
            <>
              <Moment at={removal.at} />: {readable(removal.reason)}
            </>
          )}
        </Fact>
        <Fact name="Size">{of.sizeBytes !== undefined && size(of.sizeBytes)}</Fact>
        <Fact name="Form">
          {of.base ? (
            <>
              the changes since {link({ sandboxId: of.originId, snapshotId: of.base }, of.base)}
              {of.totalBytes !== undefined && `; a restore reads ${size(of.totalBytes)}`}
            </>
          ) : (
            fullForm(of)
          )}
        </Fact>
        <Fact name="Stored bytes">
          {!!of.sharedBytes && `${size(of.ownBytes ?? 0)} of its own, ${size(of.sharedBytes)} shared`}
        </Fact>
        <Fact name="Deltas">
          {!!of.deltas?.length && (
            <ul class="plain">
              {of.deltas.map((snapshotId) => (
                <li key={snapshotId}>{link({ sandboxId: of.originId, snapshotId }, snapshotId)}</li>
              ))}
            </ul>
          )}
        </Fact>
        <Fact name="Format">{of.format}</Fact>
        <Fact name="Image">{of.provenance?.image}</Fact>
        <Fact name="Packages">{of.provenance?.packages}</Fact>
        <Fact name="SDK version">{of.provenance?.sdkVersion}</Fact>
        <Fact name="Class version">{of.provenance?.classVersion}</Fact>
        <Fact name="Directory">
          <code>{of.dir}</code>
        </Fact>
        <Fact name="Restorable">
          <Badge
            tone={of.restorable === 'yes' ? 'good' : of.restorable === 'no' ? 'bad' : 'plain'}
            icon={of.restorable === 'yes' ? 'check' : of.restorable === 'no' ? 'cross' : 'dash'}
          >
            {RESTORABLE[of.restorable]}
          </Badge>{' '}
          {of.why}
        </Fact>
        <Fact name="Expires">
          {of.expiresAt ? (
            <Moment at={of.expiresAt} />
          ) : of.pinned ? (
            'never while pinned'
          ) : (
            of.state === 'ready' && 'kept'
          )}
        </Fact>
        <Fact name="Last used">
          <Moment at={of.lastUsedAt} />
        </Fact>
        <Fact name="Dependents">
          {of.dependents.length > 0 && (
            <ul class="plain">
              {of.dependents.map((sandboxId) => (
                <li key={sandboxId}>{link({ sandboxId }, sandboxId)}</li>
              ))}
            </ul>
          )}
        </Fact>
        <Fact name="Created from it">
          {of.derived.length > 0 && (
            <ul class="plain">
              {of.derived.map(({ sandboxId, lineage, needsSnapshot, beganAt }) => (
                <li key={sandboxId}>
                  {link({ sandboxId }, sandboxId)}{' '}
                  <span class="hint">
                    {lineage === 'branch' ? 'branched' : 'restored'}, <Moment at={beganAt} />
                    {needsSnapshot && ', depends on it'}
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Fact>
        <Fact name="Parent snapshot">
          {parent && link({ sandboxId: parent.originId, snapshotId: parent.snapshotId }, parent.snapshotId)}
        </Fact>
      </Facts>
      <details class="more">
        <summary>Capture and storage</summary>
        <Facts>
          <Fact name="Capture began">
            <Moment at={of.captureBeganAt} />
          </Fact>
          <Fact name="Full because">{!of.base && whyFull(of)}</Fact>
          <Fact name="Excluded">{of.excludes.length > 0 && <Lines of={of.excludes} />}</Fact>
          <Fact name="Files that git ignores">{of.gitignore ? 'excluded' : 'included'}</Fact>
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
          <Fact name="Usable until">{isSoon(of.usableUntil) && <Moment at={of.usableUntil} />}</Fact>
          <Fact name="Checked in R2">
            <Moment at={of.checkedAt} />
          </Fact>
          <Fact name="Origin">{link({ sandboxId: of.originId }, of.originId)}</Fact>
          <Fact name="Root sandbox">{link({ sandboxId: of.rootId }, of.rootId)}</Fact>
          <Fact name="Imported">{of.imported ? 'yes' : 'no'}</Fact>
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
