import { COLUMNS, runSuites } from './suites.ts';
const runs = process.argv.slice(2).map((arg) => { const [column, suite] = arg.split(':'); return { suite: suite!, column: COLUMNS.find((c) => c.name === column)! }; });
console.log(await runSuites(runs, 4));
