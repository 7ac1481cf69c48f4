public import Observation

/// An object with properties tracked by Swift's Observation: a reader of a property (a view, `withObservationTracking`)
/// is notified of the next change of this property.
///
/// ```swift
/// let track = try context.observed(track)
/// withObservationTracking { label.text = track.title } onChange: { scheduleUpdate() }
/// ```
/// The properties of the object are readable and writable properties of this type too. A reader is notified at once
/// when the property is written through this object. After other changes, it is notified when
/// ``ManagedObjectContext/values(of:_:)`` would return a state, and after a reset of the context, if the property then
/// differs from the value read before: a reset replaces related objects. A value without `Equatable`, such as a to-many
/// relationship, counts as changed with every change of the object. In a child context, a reader of a to-one relationship
/// is not notified when a parent deletes the target, or reverts the delete, without a change of the object itself.
///
/// ``ManagedObjectContext/observed(_:)`` makes it. To be used inside the context of the object, where the readers are
/// notified too: on the main actor for a main-queue context. Retains the object and its context. Cost: a read also
/// costs the registration with Observation; a change of the object, or a reset, costs a comparison for each property
/// read before, and other changes cost nothing.
@dynamicMemberLookup
public final class ObservedObject<Object: ManagedObject>: Observable {
  /// The object itself. Reads of its own properties are not tracked. After a reset of the context, and after a save in
  /// which an inserted record became a stored record of which the context has another object, it is the context's
  /// object of the record.
  public var object: Object {
    renewObject()
    return current
  }
  /// The object that was read last. A reset detaches it.
  private var current: Object

  private let context: ManagedObjectContext
  private let registrar = ObservationRegistrar()
  /// The properties read so far, with the values known to their readers.
  private var reads: [AnyKeyPath: any ReadValue<Object>] = [:]
  /// Whether deliveries count. The first state, which the initializer receives, is no change.
  private var isFollowing = false
  private var isRecordDeleted = false
  private var failure: (any Error)?

  /// - Throws: As ``ManagedObjectContext/observed(_:)``.
  init(_ object: Object, in context: ManagedObjectContext) throws {
    current = object
    self.context = context
    let request = try CheckedRequest(.record(of: object), sectionKeyPath: nil, in: context.coordinator())
    try ContextLiveResults.of(context)?.add(request, for: self, in: context)
    isFollowing = true
  }

  /// Whether the record is deleted, in the context or in its store. `false` again when an unsaved delete is reverted. An
  /// undo of a saved delete inserts another record, which needs another observed object. Tracked like the properties.
  public var isDeleted: Bool {
    registrar.access(self, keyPath: \.isDeleted)
    return isRecordDeleted
  }

  /// The error that ended the observation: the error of a failed read, or ``ErrorCode/storeDetached``; `nil` before the
  /// end. Tracked like the properties.
  public var error: (any Error)? {
    registrar.access(self, keyPath: \.error)
    return failure
  }

  /// The value of a property of the object.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Object, Value>) -> Value { tracked(keyPath) }

  /// The value of a property of the object. A new value notifies readers at once.
  public subscript<Value>(dynamicMember keyPath: ReferenceWritableKeyPath<Object, Value>) -> Value {
    get { tracked(keyPath) }
    set {
      renewObject()
      registrar.withMutation(of: self, keyPath: \.[read: keyPath]) {
        current[keyPath: keyPath] = newValue
        if reads[keyPath] != nil { reads[keyPath] = ReadProperty(keyPath, current[keyPath: keyPath]) }
      }
    }
  }

  /// Returns the value of a property, and registers the reader for the property's next change.
  private func tracked<Value>(_ keyPath: KeyPath<Object, Value>) -> Value {
    registrar.access(self, keyPath: \.[read: keyPath])
    renewObject()
    let value = current[keyPath: keyPath]
    guard var read = reads[keyPath] as? ReadProperty<Object, Value> else {
      reads[keyPath] = ReadProperty(keyPath, value)
      return value
    }
    if read.note(value) { reads[keyPath] = read }
    return value
  }

  /// Replaces an object that the context has dropped without a delete of its record.
  private func renewObject() {
    guard !current.flags.contains(.deleted), !current.recordID.isTemporaryID else { return }
    replaceObject(of: current.recordID)
  }

  /// Replaces an object that belongs to no context any more by the context's object of the record.
  private func replaceObject(of id: ManagedObjectID) {
    guard current.flags.contains(.detached) else { return }
    let present = context.storage.registry.object(for: id) ?? (try? context.fault(for: id, of: id.entity))
    if let present = present as? Object { current = present }
  }

  /// The key of a property of the object in the registrar.
  private subscript(read keyPath: AnyKeyPath) -> Void { () }
}

extension ObservedObject: ResultSink {
  func receive(_ delivery: ResultDelivery, in context: ManagedObjectContext) {
    let id = delivery.state.visibleEntries.first?.id
    guard isFollowing else { return isRecordDeleted = id == nil }
    guard id != nil || !isRecordDeleted else { return }
    if let id { replaceObject(of: id) }
    if isRecordDeleted != (id == nil) {
      registrar.withMutation(of: self, keyPath: \.isDeleted) { isRecordDeleted = id == nil }
    }
    notifyReaders()
  }

  func replaceObjects(of state: ResultState, in context: ManagedObjectContext) {
    guard !isRecordDeleted, let id = state.visibleEntries.first?.id else { return }
    replaceObject(of: id)
    notifyReaders()
  }

  /// Notifies the readers of the properties whose present values they do not know.
  private func notifyReaders() {
    for (keyPath, read) in reads {
      var read = read
      guard read.update(from: current) else { continue }
      registrar.withMutation(of: self, keyPath: \.[read: keyPath]) { reads[keyPath] = read }
    }
  }

  func end(_ error: (any Error)?) {
    guard let error else { return }
    registrar.withMutation(of: self, keyPath: \.error) { failure = error }
  }
}

/// A property read before, with the value known to its readers.
private protocol ReadValue<Object> {
  associatedtype Object: ManagedObject

  /// Stores the present value of the property, and returns whether a reader knows another value.
  mutating func update(from object: Object) -> Bool
}

private struct ReadProperty<Object: ManagedObject, Value>: ReadValue {
  private let keyPath: KeyPath<Object, Value>
  private var value: Value
  /// Whether readers know different values, because one of them has read an edit before its notification.
  private var isMixed = false

  init(_ keyPath: KeyPath<Object, Value>, _ value: Value) {
    self.keyPath = keyPath
    self.value = value
  }

  /// Records the value read by a further reader, and returns whether this is the first different value.
  mutating func note(_ read: Value) -> Bool {
    guard !isMixed, differs(from: read) else { return false }
    isMixed = true
    return true
  }

  mutating func update(from object: Object) -> Bool {
    let present = object[keyPath: keyPath]
    defer { (value, isMixed) = (present, false) }
    return isMixed || differs(from: present)
  }

  private func differs(from other: Value) -> Bool {
    guard let equatable = value as? any Equatable else { return true }
    return !equatable.equals(other)
  }
}

extension Equatable {
  /// Whether a value of any type is equal to this value.
  fileprivate func equals(_ other: some Any) -> Bool { (other as? Self) == self }
}

extension ManagedObjectContext {
  /// Returns an object whose properties Swift's Observation tracks, for example for views; see ``ObservedObject``.
  ///
  /// To be called inside the context. Costs a read of the record.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``, and errors of the read.
  public final func observed<Object: ManagedObject>(_ object: Object) throws -> ObservedObject<Object> {
    try operating { try ObservedObject(object, in: self) }
  }
}
