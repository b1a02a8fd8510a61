/**
 * What comes of calls that a model made in one turn; `undefined` is left out. They are made one after the other, as the
 * model listed them: one may rely on what another did before it.
 */
export async function inOrder<Call, Result>(
  calls: readonly Call[],
  answer: (call: Call) => Promise<Result | undefined>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const call of calls) {
    const result = await answer(call);
    if (result !== undefined) results.push(result);
  }
  return results;
}
