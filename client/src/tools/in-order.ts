import { kindOf } from '../arguments.ts';
import { invalidArgument } from '../failures.ts';

/**
 * Answers the calls that a model made in one turn, one after the other in their order, because a call may depend on the
 * previous one. Omits results that are `undefined`.
 */
export async function inOrder<Call, Result>(
  calls: readonly Call[],
  answer: (call: Call) => Promise<Result | undefined>,
): Promise<Result[]> {
  if (!Array.isArray(calls))
    throw invalidArgument(
      `answer() takes the calls of the model as an array, got ${kindOf(calls)}.`,
      "Pass the array in the model's answer that contains them.",
    );
  const results: Result[] = [];
  for (const call of calls) {
    const result = await answer(call);
    if (result !== undefined) results.push(result);
  }
  return results;
}
