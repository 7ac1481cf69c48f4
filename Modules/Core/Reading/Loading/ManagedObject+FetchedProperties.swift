// Fetched properties: the results of requests that depend on an object, fetched on the first access and kept by the
// object.

extension ManagedObject {
  /// The objects of a fetched property, for typed accessors, in the order of the request.
  ///
  /// The first access fetches the objects like ``ManagedObjectContext/fetch(_:)``, unsaved changes included. The object
  /// keeps the result until ``refreshFetchedProperties()``, ``ManagedObjectContext/refresh(_:mergeChanges:)``,
  /// ``ManagedObjectContext/refreshAll()`` or a rollback, and until a snapshot or a lock reads the object again. Later
  /// changes of the object and of other records do not change the result, but deleted objects leave it. The kept result
  /// does not retain its objects; an access loads released objects together.
  ///
  /// Neither throws nor traps: after a failure the accessor returns no objects, and the context reports the error in
  /// ``ManagedObjectContext/reportedErrors``.
  public final subscript<Source, Target>(key: FetchedKey<Source, Target>) -> [Target] {
    do {
      return try fetchedObjects(for: key)
    } catch {
      managedObjectContext?.report(error, for: self, losesChange: false)
      return []
    }
  }

  /// Returns the objects of a fetched property. The throwing form of the accessor.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/wrongType`` for an object or a result of another class;
  ///   ``ErrorCode/objectDeleted`` for an object without a context; errors of the closure, and as
  ///   ``ManagedObjectContext/fetch(_:)``.
  public final func fetchedObjects<Source, Target>(for key: FetchedKey<Source, Target>) throws -> [Target] {
    switch key.rule {
    case .declared(let name):
      return try fetchedObjects(for: name).map { object in
        guard let target = object as? Target else {
          throw CoherenceError(
            .wrongType,
            "'\(entity.name).\(name)' fetches objects of '\(object.entity.name)', which are not of \(Target.self).")
        }
        return target
      }
    case .request(let request):
      guard let source = self as? Source else {
        throw CoherenceError(.wrongType, "The fetched property is of \(Source.self), not of '\(entity.name)'.")
      }
      return try fetched(AnyHashable(ObjectIdentifier(key)), of: key) { try request(source) }
    }
  }

  /// Returns the objects of a ``FetchedProperty`` of the model, by name. Keeps the result like the accessor.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/objectDeleted`` for an object without a context; and as
  ///   ``ManagedObjectContext/fetch(_:)``.
  public final func fetchedObjects(for name: String) throws -> [ManagedObject] {
    let property = try entity.fetchedProperty(named: name)
    return try fetched(AnyHashable(name), of: nil) { try property.request(for: self) }
  }

  /// Drops the kept results of the object's fetched properties, so that the next access fetches them again.
  public final func refreshFetchedProperties() {
    check()
    caches?.fetched = [:]
  }

  /// Returns the kept result of a fetched property, or fetches it and keeps the result.
  ///
  /// - Parameters:
  ///   - identity: The name of the property, or the identity of its key, under which the object keeps the result.
  ///   - key: The key of the property; `nil` for a property with a name.
  private final func fetched<Target>(
    _ identity: AnyHashable, of key: AnyObject?, _ request: () throws -> FetchRequest<Target>
  ) throws -> [Target] {
    check()
    guard let context = managedObjectContext else { throw deletedError() }
    if let result = caches?.fetched[identity], result.key === key {
      return try context.presentObjects(of: result.ids).downcast(to: Target.self)
    }
    let objects = try context.fetch(try request())
    // The kept temporary identifiers must lead to the objects after a save.
    for object in objects where object.recordID.isTemporaryID { object.exposeTemporaryID() }
    if caches == nil { caches = ObjectCaches() }
    caches?.fetched[identity] = KeptResult(key: key, ids: objects.map(\.recordID))
    return objects
  }
}

extension ManagedObjectContext {
  /// The objects of a kept result without deleted objects, in its order, loaded together.
  fileprivate final func presentObjects(of ids: [ManagedObjectID]) throws -> [ManagedObject] {
    let ids = ids.map(current)
    let objects = storage.registry.objects(for: ids)
    if objects.allSatisfy({ $0?.isLoaded == true }) { return objects.compactMap { $0 }.filter { !$0.isDeleted } }
    return try operating { try presentObjects(with: ids) }
  }
}
