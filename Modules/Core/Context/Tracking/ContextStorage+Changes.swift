// The changes of records during a block of the user's code, such as a hook or the closure of a merge policy.

extension ContextStorage {
  /// Runs a block, and returns whether it changed records, even if the block has posted the changes already, for
  /// example by a fetch.
  func isChanged(by body: () throws -> Void) rethrows -> Bool {
    // Set aside until the end of the block: a notification of the earlier changes is no change by the block.
    let earlierChanges = unpostedChanges
    unpostedChanges = []
    // A record that the list had before is listed again.
    round &+= 1
    let earlierPosts = postCount
    // The list may have a record twice. The sets of changed objects remove duplicates.
    defer { unpostedChanges = earlierChanges + unpostedChanges }
    try body()
    return postCount != earlierPosts || unpostedChanges.contains { !$0.isSilent }
  }

  /// Runs a block, and returns the records that it changed, without the records of changes that the block has posted.
  func changes(by body: () -> Void) -> [PendingRecord] {
    let earlierPosts = postCount
    let earlierCount = unpostedChanges.count
    // A record that the list had before is listed again.
    round &+= 1
    body()
    // A notification in the block has emptied the list.
    let first = postCount == earlierPosts ? earlierCount : 0
    return unpostedChanges.count > first ? unpostedChanges[first...].filter { !$0.isSilent } : []
  }
}
