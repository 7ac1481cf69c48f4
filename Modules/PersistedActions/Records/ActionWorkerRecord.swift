import CoherenceCore
import Foundation

/// The record of a worker. Each heartbeat of the worker changes it.
final class ActionWorkerRecord: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let identifier = AttributeKey<UUID>("identifier")
    let name = AttributeKey<String>("name")
    let beats = AttributeKey<Int64>("beats")
    let beatDate = AttributeKey<Date>("beatDate")
    let startedDate = AttributeKey<Date>("startedDate")
  }

  static var entityName: String { "CoherenceActionWorker" }

  static var entityDeclaration: Entity {
    Entity(entityName, class: ActionWorkerRecord.self, uniqueness: [["identifier"]]) {
      Attribute("identifier", .uuid)
      Attribute("name", .string)
      Attribute("beats", .int64, default: 0)
      Attribute("beatDate", .date)
      Attribute("startedDate", .date)
    }
  }

  var identifier: UUID {
    get { self[Properties.table.identifier] }
    set { self[Properties.table.identifier] = newValue }
  }
  var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
  /// A number that each heartbeat raises by one, from a random number on. Other workers compare the number with an
  /// earlier one instead of comparing dates, because the clocks of several computers differ.
  var beats: Int64 {
    get { self[Properties.table.beats] }
    set { self[Properties.table.beats] = newValue }
  }
  var beatDate: Date {
    get { self[Properties.table.beatDate] }
    set { self[Properties.table.beatDate] = newValue }
  }
  var startedDate: Date {
    get { self[Properties.table.startedDate] }
    set { self[Properties.table.startedDate] = newValue }
  }
}
