/// The values of a record, read in the order of ``EntitySnapshot/fields``. To be used within
/// ``EntitySnapshot/init(reading:)``.
///
/// Missing and unknown values read as typed accessors return them. A missing value of an optional type is `nil`. Any
/// other missing or unknown value reads as the model's default, or else as the type's. A coded value with an
/// undecodable text fails the whole read, after the snapshot was made of the key's default.
public struct SnapshotReader {
  /// The record's identifier.
  public let objectID: ManagedObjectID?
  // Safety of the pointers: the memory belongs to the caller of `EntitySnapshot.init(reading:)` during the call. Each
  // value is moved out once: the values before `next` are uninitialised, the others initialised.
  @usableFromInline let values: UnsafeMutablePointer<AttributeValue>
  @usableFromInline var next = 1
  @usableFromInline let count: Int
  // Safety of `Unmanaged`: layouts live as long as the process.
  private let layout: Unmanaged<SnapshotLayout>
  private var nextComposite = 0
  /// The values that could not be decoded, by their indices.
  private(set) var failures: [(index: Int, error: CoherenceError)] = []

  /// - Parameter values: The initialised values of the layout's slots, which the reader moves out.
  init(_ values: UnsafeMutablePointer<AttributeValue>, _ layout: SnapshotLayout) {
    self.values = values
    self.layout = Unmanaged.passUnretained(layout)
    count = layout.slots.count
    objectID = if case .reference(let id) = values.move() { id } else { nil }
  }

  /// Reads the value of the next field, an attribute. A missing value of a required type, and a value that the type
  /// refuses, reads as the model's default, or else as the type's. A call beyond the last field ends the process with a
  /// sentence.
  @inlinable public mutating func read<Value: AttributeConvertible>(_ type: Value.Type = Value.self) -> Value {
    let value = take()
    if let result = Value(attributeValue: value) { return result }
    return defaultValue()
  }

  /// Reads the value of the next field, a to-one relationship: the identifier of the target; `nil` without a target.
  /// The target's record may not exist.
  @inlinable public mutating func read(_ type: ManagedObjectID?.Type = ManagedObjectID?.self) -> ManagedObjectID? {
    if case .reference(let id) = take() { return id }
    return nil
  }

  /// Reads the value of the next field, a composite: takes one value for each part.
  public mutating func read<Value: CompositeValue>(_ type: Value.Type = Value.self) -> Value {
    let (first, counts) = (next, layout.takeUnretainedValue().partCounts)
    Misuse.check(nextComposite < counts.count, Self.misuse)
    var parts: [AttributeValue] = []
    for _ in 0..<counts[nextComposite] { parts.append(take()) }
    nextComposite += 1
    var reader = CompositeReader(parts, defaults: Array(layout.takeUnretainedValue().defaults[first..<next]))
    return Value(reading: &reader)
  }

  /// Reads the value of the next field, a `codable` attribute, and decodes its text. An undecodable text reads as the
  /// key's default, and fails the whole read afterwards.
  public mutating func read<Value>(codable key: CodableKey<Value>) -> Value {
    let index = next
    let value = take()
    do {
      if case .string = value { return try JSONText.decode(Value.self, from: value) }
      let declared = layout.takeUnretainedValue().defaults[index]
      if !key.acceptsNull, case .string = declared { return try JSONText.decode(Value.self, from: declared) }
    } catch {
      let layout = layout.takeUnretainedValue()
      let failure = CoherenceError(
        .wrongType,
        "The value of '\(layout.entity.name).\(layout.names[index])' cannot be decoded as a \(Value.self) for a "
          + "snapshot; use the type that was encoded.",
        underlying: error)
      failures.append((index, failure))
    }
    return key.defaultValue
  }

  /// Moves the next value out.
  @inlinable mutating func take() -> AttributeValue {
    Misuse.check(next < count, Self.misuse)
    defer { next += 1 }
    return (values + next).move()
  }

  /// The value of an accessor for the last value, which its type cannot represent.
  @inlinable @inline(never) func defaultValue<Value: AttributeConvertible>() -> Value {
    Value(attributeValue: declaredDefault) ?? Value.attributeDefault
  }

  @usableFromInline var declaredDefault: AttributeValue { layout.takeUnretainedValue().defaults[next - 1] }

  @usableFromInline static var misuse: String {
    "A snapshot reads one value for each of its fields, in the order of `fields`; read as many values as it has fields."
  }

  /// Ends the read: checks that all values were moved out of the memory, which the caller does not deinitialise.
  func finish() {
    Misuse.check(next == count, Self.misuse)
  }
}
