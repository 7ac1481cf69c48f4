import CoherenceCore
import CoherenceReconciliation

/// The values from which a merge plans its changes, and from which the save checks the plan again.
struct MergeBasis {
  let context: ActionContext
  let scope: MergeScope
  let layout: MergeLayout
  let condition: MergeCondition
  let input: any MergeInput
  /// The input records by their keys.
  let inputByKey: InputIndex
}
