// The head of the page with differences: the workspaces, and links to what is compared.

import type { TreeSandbox } from '../../../client/src/index.ts';
import { dateTime } from '../format.ts';
import { useOnce } from '../once.ts';
import { DEFAULT_TENANT, href, type Place, type Selected } from '../routes.ts';
import { client } from '../session.ts';
import { Name } from '../ui/name.tsx';
import { createLineageReader, sandboxesOf } from './lineage-reader.ts';

/** What the page compares. */
export type Sides = Pick<Extract<Place, { at: 'diff' }>, 'from' | 'to'>;

/** A snapshot by its sandbox and its id; without an id, the present files of the sandbox. */
export type Snapshot = Sides['to'];

/** Whether a side is a snapshot, and not present files. */
export const isSnapshot = (of: Snapshot): of is Sides['from'] => of.snapshotId !== undefined;

/** The title, and when both sides are from. Until the lineage is read, and if that fails, the sandboxes have their ids. */
export function DiffHead({ from, to }: Sides) {
  const { value: manifests } = useOnce(JSON.stringify(['manifests', from, to]), (options) =>
    Promise.all([
      client.manifest({ ...from, ...options }),
      isSnapshot(to) && client.manifest({ ...to, ...options }),
    ]),
  );
  const ids = [from.sandboxId, to.sandboxId];
  const { value: lineage, failure } = useOnce(JSON.stringify(['owners', ids]), async (options) => {
    const { root } = await createLineageReader(to.sandboxId)({ ...options, retry: false }, true);
    return [...sandboxesOf(root)];
  });
  const isRead = lineage !== undefined || failure !== undefined;
  const [ofFrom, ofTo] = [from, to].map(({ sandboxId }) => ownerOf(sandboxId, lineage)) as [Owner, Owner];
  const isOne = href(ofFrom.page()) === href(ofTo.page());
  const [before, after] = manifests ?? [];
  return (
    <>
      <header class="page-head">
        <p class="kind">
          Differences{' '}
          {isRead && (
            <>
              {isOne ? 'in' : 'between'} <OwnerLink of={ofFrom} />
              {!isOne && (
                <>
                  {' '}
                  and <OwnerLink of={ofTo} />
                </>
              )}
            </>
          )}
        </p>
        <h1>
          <a title={from.snapshotId} href={href(ofFrom.page(from))}>
            <Name of={before?.label ?? from.snapshotId} />
          </a>{' '}
          →{' '}
          <a title={to.snapshotId ?? to.sandboxId} href={href(ofTo.page(isSnapshot(to) ? to : undefined))}>
            {isSnapshot(to) ? (
              <Name of={(after && after.label) || to.snapshotId} />
            ) : (
              <>
                present files{' '}
                {isRead && (
                  <>
                    of <Name of={ofTo.name} />
                  </>
                )}
              </>
            )}
          </a>
        </h1>
        {isSnapshot(to) && <a href={href({ at: 'diff', from: to, to: from })}>Swap</a>}
      </header>
      {before && (
        <p class="hint">
          From {dateTime(before.createdAt)} to {after ? dateTime(after.createdAt) : 'now'}.
        </p>
      )}
    </>
  );
}

/** The workspace of a sandbox, or the sandbox itself without a workspace. */
interface Owner {
  kind: 'workspace' | 'sandbox';
  name: string;
  /** Returns its page, with the details of a snapshot. */
  page: (selected?: Selected) => Place;
}

function ownerOf(sandboxId: string, lineage: TreeSandbox[] | undefined): Owner {
  const workspace = lineage?.find((sandbox) => sandbox.sandboxId === sandboxId)?.workspace;
  if (!workspace)
    return {
      kind: 'sandbox',
      name: sandboxId,
      page: (selected) => ({ at: 'sandbox', sandboxId, ...(selected && { selected }) }),
    };
  const { name, tenant = DEFAULT_TENANT } = workspace;
  return {
    kind: 'workspace',
    name,
    page: (selected) => ({ at: 'workspace', tenant, name, ...(selected && { selected }) }),
  };
}

function OwnerLink({ of: { kind, name, page } }: { of: Owner }) {
  return (
    <>
      the {kind}{' '}
      <a href={href(page())}>
        <Name of={name} />
      </a>
    </>
  );
}
