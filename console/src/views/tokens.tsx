// The access tokens of a tenant.

import { useState } from 'preact/hooks';

import type { Token } from '../../../client/src/index.ts';
import { useAction } from '../action.ts';
import { useLive } from '../live.ts';
import { client } from '../session.ts';
import { Button } from '../ui/button.tsx';
import { ActionDialog } from '../ui/dialog.tsx';
import { Time } from '../ui/facts.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Name } from '../ui/name.tsx';
import { CreateToken } from './create-token.tsx';
import { TenantHead } from './tenant-head.tsx';

/** The tokens of a tenant: create and revoke them. */
export function TokensView({ tenant }: { tenant: string }) {
  const [dialog, setDialog] = useState<Token | 'create'>();
  const live = useLive(tenant, (options) => client.tokens.list({ tenant, ...options }), {
    interval: 30_000,
  });
  const close = () => setDialog(undefined);
  return (
    <>
      <TenantHead tenant={tenant} title="Access tokens">
        <Button needs="tokens/create" variant="primary" icon="add" onClick={() => setDialog('create')}>
          New token…
        </Button>
      </TenantHead>
      <Loaded of={live} loading="Loading…">
        {({ tokens }) =>
          tokens.length === 0 ? (
            <p class="empty">
              No access tokens yet. Create one for each program or user that needs fewer permissions than
              API_TOKEN has.
            </p>
          ) : (
            <table class="files labeled panel">
              <caption class="unseen">Access tokens of {tenant}</caption>
              <thead>
                <tr>
                  {['Token', 'Permissions', 'Workspaces', 'Created', 'Expires', ''].map((name) => (
                    <th key={name} scope="col">
                      {name || <span class="unseen">Actions</span>}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {tokens.map((token) => (
                  <tr key={token.id}>
                    <th scope="row">
                      <Name of={token.label ?? token.id} />
                    </th>
                    <td data-name="Permissions">{token.permissions.join(', ')}</td>
                    <td data-name="Workspaces">{token.workspaces?.join(', ') ?? 'all'}</td>
                    <td data-name="Created">
                      <Time at={token.createdAt} />
                    </td>
                    <td data-name="Expires">
                      <Time at={token.expiresAt} />
                    </td>
                    <td>
                      <Button
                        needs="tokens/revoke"
                        variant="quiet"
                        label={`Revoke ${token.label ?? token.id}…`}
                        onClick={() => setDialog(token)}
                      >
                        Revoke…
                      </Button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
      {dialog === 'create' && <CreateToken tenant={tenant} onClose={close} />}
      {typeof dialog === 'object' && <Revoke token={dialog} onClose={close} />}
    </>
  );
}

function Revoke({ token: { id, tenant, label }, onClose }: { token: Token; onClose: () => void }) {
  const name = <Name of={label ?? id} />;
  const revoking = useAction(
    { operation: 'revoke', subject: id, title: <>Revoking {name}</> },
    async () => {
      await client.tokens.revoke({ tenant, id });
      return { message: <>{name} was revoked. It is refused within 30 seconds.</> };
    },
    onClose,
  );
  return (
    <ActionDialog
      title={<>Revoke {name}?</>}
      submitLabel="Revoke"
      variant="danger"
      action={revoking}
      onClose={onClose}
    >
      <p>Programs that use the token are refused.</p>
    </ActionDialog>
  );
}
