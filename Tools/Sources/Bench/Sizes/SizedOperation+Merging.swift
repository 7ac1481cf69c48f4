import Coherence
import CoherenceMapping

extension SizedOperation {
  /// Operations that compare input with stored records.
  static var merging: [SizedOperation] { [mergeRecords, saveModels, saveChangedModels] }

  private static var mergeRecords: SizedOperation {
    SizedOperation(name: "merge of equal dictionaries", share: .record) { stores, size in
      try stores.withConfiguration { configuration in
        let records = PersonGenerator.people(size).map { MergeRecord($0) }
        let store = try MergeStore(configuration)
        _ = try store.merge(records)
        try stores.finishBackgroundWork()
        let (seconds, result) = try store.merge(records)
        guard result.unchanged == size else { throw BenchError("The merge changed records that are equal.") }
        try store.close()
        return SizeCost(seconds: seconds, count: size)
      }
    }
  }

  private static var saveModels: SizedOperation {
    mappingSave("mapping: save of equal models", updating: false) { $0 }
  }

  private static var saveChangedModels: SizedOperation {
    mappingSave("mapping: save of changed models", updating: true) { people in
      people.map { person in
        var changed = person
        changed.age = 100
        return changed
      }
    }
  }

  /// - Parameter updating: Whether every model differs from its record.
  private static func mappingSave(
    _ name: String, updating: Bool, _ change: @escaping ([Person]) -> [Person]
  ) -> SizedOperation {
    SizedOperation(name: name, share: .record) { stores, size in
      try stores.withConfiguration { configuration in
        let people = PersonGenerator.people(size)
        let changed = change(people)
        let store = try PersonStore(configuration)
        try store.insert(people)
        try stores.finishBackgroundWork()
        var result = SaveResult()
        let seconds = try Stopwatch.seconds {
          result = try store.manager.save(Person.mapping, models: changed, shouldOverwrite: true)
        }
        guard (updating ? result.updated : result.unchanged) == size else {
          throw BenchError("The save wrote \(result.updated) of \(size) records.")
        }
        try store.close()
        return SizeCost(seconds: seconds, count: size)
      }
    }
  }
}
