/// The values of a record, as a structure that leaves its context.
///
/// A snapshot has the attributes of a record, composites and coded values among them, and the identifiers of its to-one
/// targets. To-many relationships are left out. A snapshot may be changed and passed to any thread, encoded, compared,
/// inserted with `ManagedObjectContext.insert(_:)` and applied with ``ManagedObject/apply(_:)``.
///
/// ```swift
/// struct Snapshot: EntitySnapshot {
///   typealias Object = Track
///   var objectID: ManagedObjectID?
///   var title: String
///   var album: ManagedObjectID?
///
///   static var fields: [SnapshotField] {
///     [SnapshotField(Track.Properties.table.title), SnapshotField(Track.Properties.table.album)]
///   }
///   init(reading values: inout SnapshotReader) {
///     objectID = values.objectID
///     title = values.read()
///     album = values.read()
///   }
///   func write(to values: inout SnapshotWriter) {
///     values.write(title)
///     values.write(album)
///   }
///   init(from decoder: any Decoder) throws {
///     let values = try SnapshotDecoder(decoder)
///     objectID = try values.decodeObjectID()
///     title = try values.decode(Track.Properties.table.title)
///     album = try values.decode(Track.Properties.table.album)
///   }
///   func encode(to encoder: any Encoder) throws {
///     var values = SnapshotEncoder(encoder)
///     try values.encode(objectID: objectID)
///     try values.encode(title, Track.Properties.table.title)
///     try values.encode(album, Track.Properties.table.album)
///   }
/// }
/// ```
/// The fields, the reads and the writes name the properties in the same order. A type whose properties are all
/// `Codable` may leave the coding to the compiler.
public protocol EntitySnapshot: Sendable, Codable, Identifiable, Equatable {
  /// The class of the objects that snapshots are taken of. A snapshot type fits the class's entity and its subentities.
  associatedtype Object: ManagedObject

  /// The record's identifier; `nil` for the values of a record to insert.
  var objectID: ManagedObjectID? { get set }
  /// The properties of the snapshot, in the order in which it reads and writes them. The same in every call.
  static var fields: [SnapshotField] { get }
  /// Makes a snapshot by reading the value of each field.
  init(reading values: inout SnapshotReader)
  /// Writes the value of each field.
  func write(to values: inout SnapshotWriter)
}

extension EntitySnapshot {
  /// The record's identifier: the snapshot's identity, unless the type has a property `id` of its own.
  @inlinable public var id: ManagedObjectID? { objectID }
}

/// A class with a snapshot type.
///
/// A subclass inherits the conformance, and with it the snapshot type of its superclass. A snapshot of its own type is
/// taken by name: `Single.Snapshot(single)`, and `ManagedObjectContext.snapshots(of:as:)`.
public protocol SnapshotProviding: ManagedObject {
  /// The structure with the values of a record.
  associatedtype Snapshot: EntitySnapshot
}

extension SnapshotProviding {
  /// Returns the object's values, with its unsaved changes. Loads a fault. To be called inside the object's context.
  ///
  /// - Throws: As `EntitySnapshot.init(_:)`.
  public func snapshot() throws -> Snapshot { try makeSnapshot() }
}
