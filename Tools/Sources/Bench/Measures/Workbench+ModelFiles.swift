import Coherence
import CoherenceModelFiles
import Foundation

extension Workbench {
  /// Reads a model file of 200 entities with ten properties each, and builds the model.
  func modelFileMeasure() -> Measure {
    let entities = 200
    return Measure(
      name: "model-file", title: "Read a model file of \(entities) entities and build the model", items: 1,
      item: "file",
      sides: [
        Side(name: "Coherence", role: .ours) {
          try self.scratch.with { url in
            try Self.modelText(entities: entities).write(to: url, atomically: false, encoding: .utf8)
            return try Stopwatch.sample {
              let model = try ModelFile(contentsOf: url).model(classes: .generic)
              return (UInt64(model.entities.count), model)
            }
          }
        }
      ],
      goals: [.each(of: "Coherence", atMost: 0.050)])
  }

  /// The text of a model. Each entity has eight attributes, and a to-many relationship to the next entity with its
  /// inverse.
  private static func modelText(entities count: Int) -> String {
    let kinds = ["String", "Integer 64", "Integer 16", "Double", "Boolean", "Date", "Binary", "UUID"]
    let attributes = kinds.enumerated().map { place, kind in
      "<attribute name=\"value\(place)\" optional=\"YES\" attributeType=\"\(kind)\"/>"
    }
    .joined(separator: "\n")
    let entities = (0..<count).map { number in
      let (next, previous) = ((number + 1) % count, (number + count - 1) % count)
      return """
        <entity name="Entity\(number)" syncable="YES">
        \(attributes)
        <relationship name="members" optional="YES" toMany="YES" deletionRule="Nullify" \
        destinationEntity="Entity\(next)" inverseName="owner" inverseEntity="Entity\(next)"/>
        <relationship name="owner" optional="YES" maxCount="1" deletionRule="Nullify" \
        destinationEntity="Entity\(previous)" inverseName="members" inverseEntity="Entity\(previous)"/>
        </entity>
        """
    }
    return """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" sourceLanguage="Swift">
      \(entities.joined(separator: "\n"))
      </model>
      """
  }
}
