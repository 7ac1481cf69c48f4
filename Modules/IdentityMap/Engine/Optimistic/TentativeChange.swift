/// The engine's side of an optimistic change: the nodes with effects of the change, retained until the change is
/// confirmed or reverted.
// Sendable because it is used under the store's lock only.
final class TentativeChange: @unchecked Sendable {
  /// A node with effects of the change, with closures in the place of its type.
  struct Participant {
    let handle: Handle
    let revert: () -> Void
    let confirm: () -> Void
    let discard: (Node) -> Void
    let include: (Node) -> Void
    /// The node, if it is an alias.
    var alias: (any EditableAlias)?
  }

  /// Unowned: the program's object retains the core, and so do the handles of the participants.
  unowned let core: StoreCore
  private(set) var participants: [Participant] = []
  /// The identities of the participants' nodes, which the participants retain.
  private var nodes: Set<ObjectIdentifier> = []
  /// Whether the change is being reverted or confirmed. Then it excludes no entities.
  private(set) var isEnding = false
  /// Whether the program's object was released, so that only the store can revert the change.
  private var isAbandoned = false

  init(core: StoreCore) {
    self.core = core
  }

  /// Sets the participants. The change is open exactly while it has participants.
  private func setParticipants(_ participants: [Participant]) {
    let former = self.participants
    defer { withExtendedLifetime(former) {} }
    self.participants = participants
    nodes = Set(participants.map { ObjectIdentifier($0.handle.node) })
    guard former.isEmpty != participants.isEmpty else { return }
    if participants.isEmpty { core.optimistic.close(self) } else { core.optimistic.open(self) }
  }

  /// Adds an entity. It is added once, however many changes it has.
  func add<T: Identifiable & Sendable>(_ node: EntityNode<T>, _ table: EntityTable<T>) {
    add(
      Participant(
        handle: .of(node), revert: { [unowned self] in table.revert(self, of: node) },
        confirm: { [unowned self] in table.confirm(self, of: node) }, discard: { node.discard($0) },
        include: { node.include($0) }))
  }

  /// Adds a participant, unless the change has its node already.
  ///
  /// The cost does not grow with the number of participants: a change of a whole list has thousands. So the log has no
  /// copy of the participants before the addition, and the list is changed in place.
  func add(_ participant: Participant) {
    guard nodes.insert(ObjectIdentifier(participant.handle.node)).inserted else { return }
    core.record { [self] in removeLastParticipant() }
    participants.append(participant)
    if participants.count == 1 { core.optimistic.open(self) }
  }

  /// Removes the participant that was added last. A rollback undoes the later additions and removals before.
  private func removeLastParticipant() {
    guard let removed = participants.popLast() else { return }
    defer { withExtendedLifetime(removed) {} }
    nodes.remove(ObjectIdentifier(removed.handle.node))
    if participants.isEmpty { core.optimistic.close(self) }
  }

  /// Removes an entity from the effects of the change.
  func discard(_ entity: Node) {
    for participant in participants where participant.handle.node !== entity { participant.discard(entity) }
  }

  /// Ends the exclusions of an entity from its aggregates.
  func include(_ entity: Node) {
    for participant in participants where participant.handle.node !== entity { participant.include(entity) }
  }

  // MARK: The end

  /// Reverts all effects and ends the change.
  func revert() {
    revertTemporarily()
    releaseParticipants()
  }

  /// Reverts all effects, in a transaction with a rollback at its end.
  func revertTemporarily() {
    isEnding = true
    for participant in participants.reversed() { participant.revert() }
    isEnding = false
  }

  /// Confirms all effects and ends the change. Aliases are confirmed first: the removal of an entity drops the open
  /// edits of an alias that require the entity.
  func confirm() {
    isEnding = true
    confirmAliasEdits()
    for participant in participants where participant.alias == nil { participant.confirm() }
    isEnding = false
    releaseParticipants()
  }

  /// Confirms the edits of aliases alone.
  func confirmAliasEdits() { for participant in participants where participant.alias != nil { participant.confirm() } }

  /// Reverts the change after the release of the program's object; again when a rollback undoes the reversion.
  func abandon() {
    isAbandoned = true
    revert()
  }

  /// Ends the change and releases its nodes.
  private func releaseParticipants() {
    guard !participants.isEmpty else { return }
    core.record { [self, participants] in
      setParticipants(participants)
      if isAbandoned { core.optimistic.addAbandoned(self) }
    }
    setParticipants([])
  }
}
