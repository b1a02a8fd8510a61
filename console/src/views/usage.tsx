// What the workspaces of a tenant use, and what it costs by Cloudflare's list prices.

import type { ComponentChildren } from 'preact';

import type { Usage, WorkspaceUsage } from '../../../client/src/index.ts';
import { duration, size } from '../format.ts';
import { useOnce } from '../once.ts';
import { href } from '../routes.ts';
import { client } from '../session.ts';
import { Failure } from '../ui/failure.tsx';
import { TenantHead } from './tenant-head.tsx';

/** The maximum number of workspaces. */
const LIMIT = 500;

/** The usage of a tenant's workspaces. It is read once, because it asks the ledger of each sandbox. */
export function UsageView({ tenant }: { tenant: string }) {
  const { value, failure, retry } = useOnce(tenant, (options) =>
    client.usage({ tenant, limit: LIMIT, ...options }),
  );
  return (
    <>
      <TenantHead tenant={tenant} title="Usage" />
      {value ? <Table of={value} /> : !failure && <p class="empty">Loading…</p>}
      <Failure of={failure} retry={retry} />
    </>
  );
}

function Table({ of }: { of: Usage }) {
  const { tenant, workspaces, pricesOf, leavesOut, cursor } = of;
  return (
    <>
      <table class="files labeled usage panel">
        <caption class="unseen">Usage of the workspaces of {tenant}</caption>
        <thead>
          <tr>
            {['Workspace', 'Stored', 'Captures', 'Restores', 'Ran', 'Storage, a month', 'Cost so far'].map(
              (name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {workspaces.map((workspace) => (
            <Row key={workspace.name} of={workspace}>
              <a href={href({ at: 'workspace', tenant, name: workspace.name })}>{workspace.name}</a>
            </Row>
          ))}
          <Row of={of}>Total</Row>
        </tbody>
      </table>
      <p class="hint">
        US dollars by Cloudflare’s list prices of {pricesOf}. Left out: {leavesOut.join(' ')}
        {cursor && ` These are the first ${LIMIT} workspaces.`}
      </p>
    </>
  );
}

function Row({
  of: { stored, operations, runningSeconds, cost },
  children,
}: {
  of: Omit<WorkspaceUsage, 'name'>;
  children: ComponentChildren;
}) {
  return (
    <tr>
      <th scope="row">{children}</th>
      <td data-name="Stored">{size(stored.ownBytes + stored.sharedBytes)}</td>
      <td data-name="Captures">{operations.captures}</td>
      <td data-name="Restores">{operations.restores}</td>
      <td data-name="Ran">{duration(runningSeconds)}</td>
      <td data-name="Storage, a month">{dollars(cost.storagePerMonth)}</td>
      <td data-name="Cost so far">{dollars(cost.operations + cost.running)}</td>
    </tr>
  );
}

function dollars(amount: number): string {
  return amount > 0 && amount < 0.0001 ? '<$0.0001' : `$${amount === 0 ? 0 : amount.toFixed(4)}`;
}
