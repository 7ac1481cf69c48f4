import CoherenceIdentityMap

extension IdentityMapBench {
  private static let dictionary = "Dictionary behind a Mutex"
  private static let ours = "Coherence"

  func find() -> Measure {
    Measure(
      name: "identity-map-find", title: "find of a retained entity, in random order", items: count, item: "find",
      sides: [
        Side(name: Self.dictionary, role: .raw) {
          let (dictionary, ids) = (filledDictionary(), shuffledIndexes(count))
          return Stopwatch.sample {
            var sum = 0
            for id in ids { sum &+= dictionary.find(id)?.id ?? 0 }
            return (UInt64(sum), dictionary)
          }
        },
        Side(name: Self.ours, role: .ours) {
          let ((store, kept), ids) = (filledStore(), shuffledIndexes(count))
          return Stopwatch.sample {
            var sum = 0
            for id in ids { sum &+= store.find(Track.self, id: id)?.value.id ?? 0 }
            return (UInt64(sum), (store, kept))
          }
        },
      ], goals: [.each(of: Self.ours, atMost: 150e-9), .ratio(to: .raw, atMost: 3)])
  }

  func storeNew() -> Measure {
    Measure(
      name: "identity-map-store", title: "store of a new entity, retained", items: count, item: "store",
      sides: [
        Side(name: Self.dictionary, role: .raw) {
          let tracks = (0..<count).map { Track($0) }
          let dictionary = LockedDictionary()
          return Stopwatch.sample {
            for track in tracks { dictionary.store(track) }
            return (0, dictionary)
          }
        },
        Side(name: Self.ours, role: .ours) {
          let tracks = (0..<count).map { Track($0) }
          let store = EntityStore(delivery: .immediate)
          var kept: [EntityObserver<Track>] = []
          kept.reserveCapacity(count)
          return Stopwatch.sample {
            for track in tracks { kept.append(store.store(entity: track)) }
            return (0, (store, kept))
          }
        },
      ], goals: [.each(of: Self.ours, atMost: 500e-9)])
  }

  func update() -> Measure {
    Measure(
      name: "identity-map-update", title: "update of an entity that nobody observes, in random order", items: count,
      item: "update",
      sides: [
        Side(name: Self.dictionary, role: .raw) {
          let (dictionary, ids) = (filledDictionary(), shuffledIndexes(count))
          return Stopwatch.sample {
            for id in ids { dictionary.update(id) { $0.plays += 1 } }
            return (0, dictionary)
          }
        },
        Side(name: Self.ours, role: .ours) {
          let ((store, kept), ids) = (filledStore(), shuffledIndexes(count))
          return Stopwatch.sample {
            for id in ids { store.update(Track.self, id: id) { $0.plays += 1 } }
            return (0, (store, kept))
          }
        },
      ], goals: [.each(of: Self.ours, atMost: 300e-9)])
  }

  func storeEqual() -> Measure {
    Measure(
      name: "identity-map-equal", title: "store of an equal entity, in random order", items: count, item: "store",
      sides: [
        Side(name: Self.ours, role: .ours) {
          let (store, kept) = filledStore()
          let tracks = shuffledIndexes(count).map { Track($0) }
          return Stopwatch.sample {
            for track in tracks { _ = store.store(entity: track) }
            return (0, (store, kept))
          }
        }
      ], goals: [.each(of: Self.ours, atMost: 200e-9)])
  }

  func storeAggregate() -> Measure {
    let aggregates = count / 10
    let (new, again) = ("Coherence, new", "Coherence, again and unchanged")
    return Measure(
      name: "identity-map-aggregate", title: "store of an aggregate of 1 + 10 entities", items: aggregates,
      item: "aggregate",
      sides: [
        Side(name: new, role: .ours) {
          let albums = (0..<aggregates).map { Album($0) }
          let store = EntityStore(delivery: .immediate)
          return Stopwatch.sample { (0, albums.map { store.store(entity: $0) }) }
        },
        Side(name: again, role: .ours) {
          let store = EntityStore(delivery: .immediate)
          let kept = (0..<aggregates).map { store.store(entity: Album($0)) }
          // New values, so that they share no buffer with the stored values.
          let albums = (0..<aggregates).map { Album($0) }
          return Stopwatch.sample {
            for album in albums { _ = store.store(entity: album) }
            return (0, kept)
          }
        },
      ], goals: [.each(of: new, atMost: 4e-6), .each(of: again, atMost: 1.5e-6)])
  }
}
