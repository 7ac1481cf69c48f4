extension PersistentStoreCoordinator {
  /// Adds a participant to the saves of the coordinator's contexts from now on.
  ///
  /// The coordinator retains the participant until it is removed, and calls participants in the order in which they
  /// were added. Adding a participant twice does nothing. Calls ``SaveParticipant/observes(_:)`` for each entity of the
  /// model. May be called on any thread; a save that runs already may not call the participant.
  ///
  /// A save without observed changes costs a comparison for each changed record at most, and the read of one word when
  /// the coordinator has no participant.
  public final func addSaveParticipant(_ participant: any SaveParticipant) {
    guard !participants.contains(participant) else { return }
    var isObserved = [Bool](repeating: false, count: managedObjectModel.entities.count)
    for entity in managedObjectModel.entities { isObserved[entity.position] = participant.observes(entity) }
    participants.add(EntityObservers.Observer(object: participant, isObserved: isObserved))
  }

  /// Removes a participant from the saves that begin from now on. A save that runs already may still call the
  /// participant. An unknown participant is ignored. May be called on any thread.
  public final func removeSaveParticipant(_ participant: any SaveParticipant) { participants.remove(participant) }
}
