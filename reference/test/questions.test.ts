// The questions of users: the search finds the guide that answers each.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { PAGES } from './pages.ts';
import { FINDER } from './finder.ts';

/** The questions, with the guides or the parts of the reference that answer them. */
const QUESTIONS: Record<string, string[]> = {
  'what happens when container sleeps': ['workspaces#what-can-be-lost'],
  'exclude files': ['workspaces#leave-out-node_modules'],
  'clone workspace': ['workspaces#fork-a-workspace'],
  'container dies': ['recover#after-a-container-ended'],
  'how long are snapshots kept?': ['snapshots#expire-snapshots'],
  'snapshot every 5 minutes': ['autosave'],
  'save automatically': ['autosave'],
  autosave: ['autosave'],
  'ai sdk': ['tools'],
  'max file size': ['limits#limits'],
  billing: ['usage'],
  windows: ['getting-started#on-macos-and-windows'],
  gdpr: ['operations#delete-all-data-of-a-user'],
  'exclude node_modules': ['workspaces#leave-out-node_modules'],
  'how large can a workspace be': ['limits#limits'],
  'mock in unit tests': ['client#transports'],
  'rate limit': ['limits#no-quotas-and-no-rate-limits'],
  'download whole workspace as zip': ['files#download-files'],
  'pass an API key to a command': ['workspaces#environment-variables-and-secrets'],
  'maximum snapshot size': ['limits#limits'],
  'undo the last command': ['checkpoints', 'checkpoints#restore'],
  'how much does it cost': ['usage'],
  'snapshto expird': ['snapshots#expire-snapshots'],
  'delete a workspace': ['workspaces#delete-a-workspace'],
  'share a token with a user': ['tokens'],
  'run a command in the background': ['background-commands'],
  'upload a file': ['sandbox-files', '/docs/files#v1-files-write'],
  'compare two snapshots': ['files#compare-two-snapshots'],
  'what is a fork': ['workspaces#fork-a-workspace'],
  'how do i restore only one file': ['files#restore-files-and-directories'],
  'name already exists': ['/docs/errors#NAME_TAKEN'],
  'restore a single file': ['files#restore-files-and-directories'],
  'cloudflare deploy': ['getting-started#on-cloudflare', 'getting-started#3-deploy'],
  'python client': ['api#clients'],
  'rust client': ['client-rust'],
  'list of error codes': ['errors'],
  'keep a process running after restart': ['background-commands#what-ends-a-command-and-what-does-not'],
  'is my data encrypted': ['secrets#encryption'],
  'how do I keep secrets out of a snapshot': ['secrets'],
  'concurrent agents same workspace': ['workspaces#several-agents-in-one-workspace'],
  'empty sandbox after sleep': ['recover#after-a-container-ended'],
  'restore an old version': ['workspaces#move-back-to-an-earlier-snapshot', 'snapshots#restore-and-branch'],
  'files disappeared': ['recover#after-a-container-ended', 'workspaces#files-that-may-be-lost'],
  'list all workspaces': ['/docs/workspaces#v1-workspaces-list'],
  'stream the output': ['commands#streams'],
  'change the docker image': ['workspaces#image'],
  'local development without docker': ['run-your-agent', 'getting-started#on-your-machine'],
  'revoke a token': ['/docs/tokens#v1-tokens-revoke'],
  'retry failed requests': ['api#retries', 'client#retries'],
  'logs and metrics': ['observability'],
  'upgrade to a new version': ['operations#upgrades'],
  'expose a port': ['background-commands#reach-a-server'],
  'snapshot a database': ['snapshots#freeze-a-database'],
  'install the cli': ['cli#install'],
  'tag a snapshot': ['snapshots#label-and-pin', '/docs/snapshots#v1-label'],
  'disk full': ['recover#when-the-disk-is-full'],
  SSE: ['commands#streams'],
  tenant: ['concepts#tenants'],
  tenants: ['concepts#tenants'],
  'multi tenant': ['concepts#tenants'],
  'rename workspace': ['workspaces#rename-a-workspace'],
  'merge fork': ['workspaces#fork-three-keep-the-best'],
  'keep running forever': ['workspaces#keep-a-workspace-running'],
  '--or-start': ['cli#workspaces'],
  lost: ['workspaces#files-that-may-be-lost', 'lost-files'],
  'diverged workspace': ['lost-files#diverged-workspaces'],
  'what changed since': ['files#compare-with-the-present-files'],
  CORS: ['mcp#web-pages'],
  '429': ['limits#no-quotas-and-no-rate-limits'],
  webhooks: ['limits#no-webhooks-and-no-push-of-events'],
  quota: ['limits#no-quotas-and-no-rate-limits'],
  sso: ['limits#no-users-and-no-single-sign-on-sso'],
  terminal: ['limits#no-interactive-terminal'],
  pty: ['limits#no-interactive-terminal'],
  ports: ['limits#no-open-ports-and-no-preview-urls'],
  'preview url': ['background-commands#reach-a-server'],
  limits: ['limits#limits'],
  'what does it not do': ['limits'],
  'clean up old snapshots': ['snapshots#expire-snapshots', 'operations#retention'],
  'getting started': ['getting-started'],
  quickstart: ['getting-started'],
  install: ['cli#install', 'getting-started#on-your-machine'],
  deploy: ['getting-started#3-deploy'],
  docker: ['run-your-agent', 'getting-started#1-prerequisites'],
  undo: ['recover#undo-a-rollback', 'checkpoints'],
  'go back': ['recover#go-back-to-a-checkpoint', 'getting-started#break-a-workspace-and-go-back'],
  branch: ['snapshots#restore-and-branch'],
  fork: ['workspaces#fork-a-workspace'],
  delete: [
    'operations#delete-all-data-of-a-user',
    'snapshots#delete-a-snapshot',
    'workspaces#delete-a-workspace',
  ],
  expire: ['snapshots#expire-snapshots'],
  upload: ['api#upload-a-file'],
  download: ['files#download-files'],
  'large files': ['sandbox-files#large-files'],
  git: ['limits#no-git-hosting'],
  sleep: ['recover#after-a-container-ended'],
  restart: ['recover#after-a-container-ended'],
  'resume after sleep': ['recover#after-a-container-ended'],
  'custom image': ['getting-started#3-deploy', 'workspaces#image'],
  'multiple users': ['concepts#tenants'],
  'env variables': ['workspaces#environment-variables-and-secrets'],
  'http api': ['api'],
  python: ['api#clients'],
  openai: ['tools'],
  'vercel ai sdk': ['tools'],
  'migrate from 0.12': ['sdk-1'],
  'gdpr delete data': ['operations#delete-all-data-of-a-user'],
  egress: ['usage#answer'],
  auth: ['tokens'],
  parallel: ['workspaces#several-agents-in-one-workspace', 'workspaces#fork-three-keep-the-best'],
  performance: ['load'],
};

/** The questions whose first result is the answer. */
const FIRST: Record<string, string[]> = {
  'how do I use it in my worker': [
    'add-to-an-agent#service-binding-of-your-worker',
    'run-your-agent#with-named-workspaces-only',
  ],
  'use in my worker': [
    'add-to-an-agent#service-binding-of-your-worker',
    'run-your-agent#with-named-workspaces-only',
  ],
  'my worker': [
    'add-to-an-agent#service-binding-of-your-worker',
    'run-your-agent#with-named-workspaces-only',
  ],
  'service binding': ['add-to-an-agent#service-binding-of-your-worker'],
  cost: ['usage'],
  pricing: ['usage'],
  ssh: ['limits#no-interactive-terminal'],
  'idle timeout': ['workspaces#automatic-stops'],
  timeout: ['commands#timeouts'],
  crash: ['recover#after-a-container-ended', 'lost-files'],
  persistent: ['workspaces#workspaces-that-are-not-persistent'],
  token: ['tokens'],
  'access control': ['tokens'],
  secrets: ['secrets'],
  cron: ['autosave'],
  local: ['run-your-agent'],
  logs: ['observability', 'observability#the-log'],
  debug: ['observability'],
  node_modules: ['workspaces#leave-out-node_modules'],
  'R2 bucket': ['getting-started#2-create-the-r2-bucket'],
  typescript: ['client'],
  'javascript client': ['client'],
};

for (const [question, answers] of Object.entries(QUESTIONS))
  test(`the first results for ${JSON.stringify(question)} have the answer`, () => {
    const results = FINDER.find(question).results.slice(0, 4);
    const urls = results.map(({ url }) => url.replace('/docs/guides/', ''));
    assert.ok(
      answers.some((answer) => urls.includes(answer)),
      urls.join(),
    );
  });

for (const [question, answers] of Object.entries(FIRST))
  test(`the first result for ${JSON.stringify(question)} is the answer`, () => {
    const url = FINDER.find(question).results[0]?.url.replace('/docs/guides/', '') ?? '';
    assert.ok(answers.includes(url), url);
  });

test('every answer is a part of a page', () => {
  for (const answer of [QUESTIONS, FIRST].flatMap((each) => Object.values(each).flat())) {
    const [path = '', anchor] = (answer.startsWith('/') ? answer : `/docs/guides/${answer}`).split('#');
    const page = PAGES.get(path);
    assert.ok(page && (anchor === undefined || page.includes(` id="${anchor}"`)), answer);
  }
});
