// The changes that a block of the user makes.

extension ContextStorage {
  /// Runs a block, and returns whether it changed records, even if it has posted the changes already. The next
  /// notification still lists the changes from before the block.
  func isChanged(by body: () throws -> Void) rethrows -> Bool {
    let earlierChanges = unpostedChanges
    unpostedChanges = []
    round &+= 1
    let earlierPosts = postCount
    // A record may be listed twice. The sets of changed objects remove duplicates.
    defer { unpostedChanges = earlierChanges + unpostedChanges }
    try body()
    return postCount != earlierPosts || unpostedChanges.contains { !$0.isSilent }
  }

  /// Runs a block, and returns the records that it changed, without those whose changes it has posted.
  func changes(by body: () -> Void) -> [PendingRecord] {
    let earlierPosts = postCount
    let earlierCount = unpostedChanges.count
    // In a new round the list gets a record again that has been changed before.
    round &+= 1
    body()
    let first = postCount == earlierPosts ? earlierCount : 0
    return unpostedChanges.count > first ? unpostedChanges[first...].filter { !$0.isSilent } : []
  }
}
