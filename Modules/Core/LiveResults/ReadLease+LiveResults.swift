extension ReadLease {
  /// The changes that live results follow: under a pinned snapshot, the unsaved changes of the context; none when the
  /// snapshot has no state.
  var followedChanges: LiveInbox.Followed {
    guard let pin else { return .all }
    return pin.failure == nil ? .ownChanges : .none
  }
}
