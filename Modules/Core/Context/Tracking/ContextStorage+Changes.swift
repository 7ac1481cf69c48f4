// The changes of records, from their listing to their notification.

extension ContextStorage {
  /// Lists a changed record for the next notification of observers.
  func noteChange(_ record: PendingRecord) {
    guard record.round != notifications.round else { return }
    // If observers are being notified, this change comes from one of them. The sets of the running notifications are
    // made first, so that they show the earlier state.
    for objects in notifications.delivering { objects.makeSets() }
    notifications.list(record)
    if isTouchTracked { requestTurn() }
  }

  /// Schedules a block that ends the turn of a main-queue context, after the first change made outside of `perform`.
  @inline(never) private func requestTurn() {
    guard confinement.isMain, !confinement.isEntered, !awaitsTurnEnd, notifications.unposted.count == 1 else { return }
    confinement.submit { [weak self] in self?.context?.insideAlone {} }
  }

  /// Removes and returns the records to list in a notification. Later changes belong to the next notification.
  func takeUnpostedChanges() -> [PendingRecord] {
    guard !notifications.unposted.isEmpty else { return [] }
    defer { notifications.unposted = [] }
    if isTouchTracked { for record in notifications.unposted { touched.add(record.id) } }
    notifications.notePost()
    let records = notifications.unposted
    return records.hasSilent ? records.filter { !$0.isSilent } : records
  }

  /// Notifies observers of changed objects. An object that an observer retains still describes the time of the
  /// notification.
  func post(_ objects: consuming ChangedObjects, _ notify: (ChangedObjects) -> Void) {
    // An observer may change objects and post again, so that no access of the list lasts during its call.
    notifications.delivering.append(objects)
    let index = notifications.delivering.count - 1
    notify(notifications.delivering[index])
    if !isKnownUniquelyReferenced(&notifications.delivering[index]) { notifications.delivering[index].makeSets() }
    notifications.delivering.removeLast()
  }
}

extension [PendingRecord] {
  /// Whether notifications leave out any of the records. Mostly none of them, so that the list needs no copy.
  fileprivate var hasSilent: Bool {
    var hasSilent = false
    visit { record in record._withUnsafeGuaranteedRef { if $0.isSilent { hasSilent = true } } }
    return hasSilent
  }
}

// MARK: - Changes in a block

/// Changes during a block of the user's code, such as a hook or the closure of a merge policy.
extension ContextStorage {
  /// Runs a block, and returns whether it changed records, even if the block has posted the changes already, for
  /// example by a fetch.
  func isChanged(by body: () throws -> Void) rethrows -> Bool {
    // Set aside until the end of the block: a notification of the earlier changes is no change by the block.
    let earlierChanges = notifications.unposted
    notifications.unposted = []
    // A record that the list had before is listed again.
    notifications.beginRound()
    let earlierPosts = notifications.postCount
    // The list may have a record twice. The sets of changed objects remove duplicates.
    defer { notifications.unposted = earlierChanges + notifications.unposted }
    try body()
    return notifications.postCount != earlierPosts || notifications.unposted.contains { !$0.isSilent }
  }

  /// Runs a block, and returns the records that it changed, without the records of changes that the block has posted.
  func changes(by body: () -> Void) -> [PendingRecord] {
    let earlierPosts = notifications.postCount
    let earlierCount = notifications.unposted.count
    // A record that the list had before is listed again.
    notifications.beginRound()
    body()
    // A notification in the block has emptied the list.
    let first = notifications.postCount == earlierPosts ? earlierCount : 0
    return notifications.unposted.count > first ? notifications.unposted[first...].filter { !$0.isSilent } : []
  }
}
