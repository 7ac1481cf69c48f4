import CoherenceActions

extension MergeResult {
  static func with(
    inserted: Int = 0, updated: Int = 0, unchanged: Int = 0, deleted: Int = 0, skipped: Int = 0
  ) -> [String: Int] {
    ["inserted": inserted, "updated": updated, "unchanged": unchanged, "deleted": deleted, "skipped": skipped]
  }
  var counts: [String: Int] {
    ["inserted": inserted, "updated": updated, "unchanged": unchanged, "deleted": deleted, "skipped": skipped]
  }
}
