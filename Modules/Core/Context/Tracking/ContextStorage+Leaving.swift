extension ContextStorage {
  /// Removes an object that leaves the context, so that no lookup finds it any more.
  func unregister(_ object: ManagedObject) {
    kept.forget(object)
    registry.remove(object, id: object.recordID)
  }
}
